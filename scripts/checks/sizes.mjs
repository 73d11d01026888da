// Refuses what grows out of its room: a file of code over 350 lines, a folder over 20 files. Looks at
// what git has, or is about to have, but for third_party/, which others have cut.
//   node scripts/checks/sizes.mjs [DIRECTORY]     default this project
import { existsSync, readFileSync } from "node:fs";
import path from "node:path";
import { root } from "../lib/project.mjs";
import { fail, outputOf } from "../lib/run.mjs";

const kMostLines = 350;
const kMostFiles = 20;
const kCode = /\.(c|cpp|h|cmake|js|mjs|ts|mts)$|CMakeLists\.txt$/;

const directory = path.resolve(process.argv[2] ?? root);
const listed = outputOf("git", ["ls-files", "--cached", "--others", "--exclude-standard"], {
  cwd: directory,
});
if (listed === undefined) fail("this needs git, and a directory that it knows");
const files = listed
  .split("\n")
  .filter((file) => !file.startsWith("third_party/"))
  .filter((file) => existsSync(path.join(directory, file || "?")));

const counts = new Map();
const wrong = [];
for (const file of files) {
  const folder = path.posix.dirname(file);
  counts.set(folder, (counts.get(folder) ?? 0) + 1);
  if (!kCode.test(file)) continue;
  const lines = readFileSync(path.join(directory, file), "utf8").split("\n").length - 1;
  if (lines > kMostLines)
    wrong.push(`${file} has ${lines} lines, at most ${kMostLines} are wanted`);
}
for (const [folder, count] of counts) {
  const isTop = folder === "."; // what tools look for there is not ours to choose
  if (count > kMostFiles && !isTop) {
    wrong.push(`${folder}/ has ${count} files, at most ${kMostFiles} are wanted`);
  }
}
for (const each of wrong) console.error(each);
if (wrong.length > 0) fail("split what is over, by what it holds");
