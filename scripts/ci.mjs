// .ci/run: everything that must pass before a change lands, one step after the other; the first that fails ends
// it. Prints the time of each, and the counts of `npm test` as its last line. What takes longer is
// `npm run check:deep`, before an issue is called done and before a release.
import { readFileSync } from "node:fs";
import { inRoot } from "./lib/project.mjs";
import { runToEnd } from "./lib/run.mjs";
import { runSteps } from "./lib/steps.mjs";

process.env.CI = "true";
process.env.NO_COLOR = "1";
// Every process of this run carries it: see checks/leftovers.mjs.
process.env.NATIVE_RUNNER_CI_RUN = `${process.pid}-${Date.now()}`;

const npm = (...args) => runToEnd("npm", ["run", "--silent", ...args]);
const check = (...names) => runToEnd(process.execPath, ["scripts/check.mjs", ...names]);

const steps = [
  {
    label: "set-up",
    work: () => runToEnd(inRoot("scripts", "bootstrap"), ["--ci", "--tests"]),
  },
  { label: "lint", work: () => npm("lint") },
  { label: "tests", work: () => npm("test") },
  { label: "tsan", work: () => check("tsan") },
  { label: "fuzz", work: () => check("fuzz") },
  { label: "pack", work: () => check("pack") },
  { label: "demo", work: () => npm("demo") }, // what README shows first
  { label: "processes left behind", work: () => check("leftovers") },
];

try {
  await runSteps("check", steps);
  console.log(readFileSync(inRoot("build", "test-summary.txt"), "utf8").trimEnd());
} catch (error) {
  console.error(error.message);
  process.exitCode = 1;
}
