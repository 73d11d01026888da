// Puts a link in the place of a directory and takes it away again, over and over.
//   node swap-directory-and-link.mjs DIRECTORY TARGET
import { renameSync, symlinkSync, unlinkSync, writeSync } from "node:fs";

const [, , directory, target] = process.argv;
const aside = `${directory}.aside`;
process.stdin.resume().on("end", () => process.exit());
writeSync(1, "ready\n");

function swap() {
  for (let i = 0; i < 50; i += 1) {
    renameSync(directory, aside);
    symlinkSync(target, directory);
    unlinkSync(directory);
    renameSync(aside, directory);
  }
  setImmediate(swap);
}
swap();
