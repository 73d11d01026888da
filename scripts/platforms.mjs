// npm run check:platforms: shows that the package works on the platforms of its users, and what each
// leaves out. Ends with a table; exit code 1 when a check has failed.
//   npm run check:platforms -- [NAME...] [--all] [--list] [--suites] [--write]
//     NAME      only the platform of this name, or those whose name has this in it; slow ones too
//     --all     slow platforms too, which are emulated: an hour
//     --list    says which platforms there are
//     --suites  also the suites that apply: in each Node.js units, types and integration, in other engines and under each
//               bwrap integration (a quarter of an hour each)
//     --write   writes the rows to the table of docs/platforms/README.md; others stay as they are
// What is downloaded is kept below build/platforms.
import { parseArgs } from "node:util";
import { bootstrap, outputOf, run } from "./lib/run.mjs";

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    all: { type: "boolean", default: false },
    list: { type: "boolean", default: false },
    suites: { type: "boolean", default: false },
    write: { type: "boolean", default: false },
  },
});
bootstrap();
run(process.execPath, ["scripts/build.mjs", "--native-only", "--tests"]); // what machines without a compiler run

const { makeOrdinaryUser } = await import("./lib/ordinary-user.mjs");
const { root } = await import("./lib/project.mjs");
const { durationText } = await import("./lib/steps.mjs");
const { platforms } = await import("./platforms/platforms.mjs");
const { checkPlatform } = await import("./platforms/check.mjs");
const { tableOf, writeTable } = await import("./platforms/table.mjs");

const all = platforms();
const isName = (word) => all.some(({ name }) => name === word);
const means = (word, name) =>
  isName(word) ? name === word : name.toLowerCase().includes(word.toLowerCase());
const wanted = ({ name, slow = false }) =>
  positionals.length === 0 ? values.all || !slow : positionals.some((word) => means(word, name));

const chosen = all.filter(wanted);
if (values.list || chosen.length === 0) {
  for (const { name, slow } of all) console.log(slow ? `${name} (slow)` : name);
  if (!values.list) console.error(`no platform has ${positionals.join(" or ")} in its name`);
  process.exit(values.list ? 0 : 2);
}

const self = { user: "root", directory: root, before: [], env: process.env, spawnOptions: {} };
const users = [];
if (process.getuid() === 0) {
  const { checkout, ...user } = makeOrdinaryUser();
  users.push(self, { user: "user", directory: checkout, ...user });
} else {
  users.push({ ...self, user: "user" });
  console.log("not run: the checks as root, since this is not root");
}

const commit = outputOf("git", ["rev-parse", "--short", "HEAD"])?.trim() ?? "no commit";
const isChanged = outputOf("git", ["status", "--porcelain", "--untracked-files=no"])?.trim() !== "";
const names = all.map(({ name }) => name);
const rows = [];
let hasFailed = false;
for (const platform of chosen) {
  const begun = performance.now();
  const row = await checkPlatform(platform, users, { suites: values.suites });
  rows.push({ ...row, commit: isChanged ? `${commit} and changes` : commit });
  const took = durationText((performance.now() - begun) / 1000);
  console.log(`${row.failed.length === 0 ? "passed" : "FAILED"}: ${platform.name} (${took})`);
  for (const line of row.failed) console.log(`  ${line}`);
  hasFailed ||= row.failed.length > 0;
  if (values.write) writeTable(rows.slice(-1), names); // each as it comes: they take long
}
console.log(`\n${tableOf(rows)}\n`);
const failed = rows.filter((row) => row.failed.length > 0).length;
console.log(`platforms: ${rows.length - failed} passed, ${failed} failed`);
process.exitCode = hasFailed ? 1 : 0;
