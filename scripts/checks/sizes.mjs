// A report, which refuses nothing: for native/ (without its tests) and lib/, how many files and folders there are, the
// median of lines, the largest files, and the thinnest, which may be part of something.
//   node scripts/checks/sizes.mjs [COUNT]     how many of each, default 8
import { readFileSync } from "node:fs";
import path from "node:path";
import { filesBelow, inRoot } from "../lib/project.mjs";

const count = Number(process.argv[2] ?? 8);
const rooms = {
  native: (file) => /\.(cpp|h)$/.test(file) && !file.startsWith(inRoot("native/tests")),
  lib: (file) => /\.m?ts$/.test(file),
};

for (const [room, isWanted] of Object.entries(rooms)) {
  const files = filesBelow(room)
    .filter(isWanted)
    .map((file) => ({
      name: path.relative(inRoot(), file),
      lines: readFileSync(file, "utf8").split("\n").length - 1,
    }))
    .sort((one, other) => other.lines - one.lines);
  const folders = new Set(files.map(({ name }) => path.dirname(name))).size;
  const median = files[Math.floor(files.length / 2)]?.lines ?? 0;
  console.log(`${room}: ${files.length} files in ${folders} folders, median ${median} lines`);
  for (const [word, some] of [
    ["largest", files.slice(0, count)],
    ["thinnest", files.slice(-count).reverse()],
  ]) {
    console.log(`  ${word}`);
    for (const { name, lines } of some) console.log(`    ${String(lines).padStart(4)}  ${name}`);
  }
}
