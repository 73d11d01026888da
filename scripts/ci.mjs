// .ci/run: everything that must pass before a change lands, one step after the other, the first that
// fails ends it. Prints the time of each, and the counts of `npm test` as its last line.
import { readFileSync } from "node:fs";
import { startAhead } from "./lib/ahead.mjs";
import { kThreadedPrograms, kUnitPrograms } from "./lib/gtest.mjs";
import { inRoot, root } from "./lib/project.mjs";
import { runToEnd } from "./lib/run.mjs";
import { runSteps, stepEnded } from "./lib/steps.mjs";

process.env.CI = "true";
process.env.NO_COLOR = "1";
process.env.FUZZ_SECONDS ??= "10";
// The package is built twice, here and as a package of a workspace: the second time takes the compiler's results of the
// first. Without -g, where a file lies does not show in what it is compiled to.
Object.assign(process.env, {
  CMAKE_C_COMPILER_LAUNCHER: "ccache",
  CMAKE_CXX_COMPILER_LAUNCHER: "ccache",
  CCACHE_DIR: inRoot("build", "ccache"),
  CCACHE_BASEDIR: root,
  CCACHE_NOHASHDIR: "1",
});
// Every process of this run carries it: see checks/leftovers.mjs.
process.env.NATIVE_RUNNER_CI_RUN = `${process.pid}-${Date.now()}`;

const targets = (names) => ["launcher", ...names].flatMap((name) => ["--target", name]);
const npm = (...args) => runToEnd("npm", ["run", "--silent", ...args]);
const node = (...args) => runToEnd(process.execPath, args);

// What later steps want compiled. The tests wait for commands most of the time: the processors do
// this meanwhile, and only while nothing else wants them. Not beside the C++ units, which have files
// written to the disk (syncfs(2)) and would wait for all that compilers write.
const kAhead = [
  ["scripts/build.mjs", "--native-only", "--preset", "fuzz", ...targets(kUnitPrograms)],
  ["scripts/build.mjs", "--native-only", "--preset", "fuzz"],
  ["scripts/build.mjs", "--native-only", "--preset", "tsan", ...targets(kThreadedPrograms)],
];
let ahead;

async function setUp() {
  await runToEnd(inRoot("scripts", "bootstrap"), ["--ci", "--tests"]);
  const when = (signal) => stepEnded("tests", "C++ units as an ordinary user", { signal });
  ahead = startAhead(kAhead, { when });
}

const steps = [
  { label: "set-up", work: setUp },
  { label: "tests", work: () => npm("test") },
  { label: "lint", work: () => npm("lint") },
  { label: "what was built meanwhile", work: () => ahead.atFullSpeed() },
  // The units; `npm run check:asan` and `check:tsan` have commands in Node too, before a release.
  { label: "asan", work: () => npm("check:asan", "--", "--units") },
  { label: "tsan", work: () => npm("check:tsan", "--", "--units") },
  { label: "fuzz", work: () => npm("fuzz") },
  { label: "pack", work: () => node("scripts/checks/pack.mjs") },
  { label: "demo", work: () => npm("demo") }, // what README shows first
  { label: "platforms", work: () => npm("check:platforms") },
  { label: "processes left behind", work: () => node("scripts/checks/leftovers.mjs") },
];

try {
  await runSteps("check", steps);
  console.log(readFileSync(inRoot("build", "test-summary.txt"), "utf8").trimEnd());
} catch (error) {
  await ahead?.stop();
  console.error(error.message);
  process.exitCode = 1;
}
