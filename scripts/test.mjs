// npm test: sets up what is missing, then the tests: C++ units (with AddressSanitizer and UBSan), TypeScript units
// and types, integration. As root, what looks at the kernel runs twice: as root and as an ordinary user, in a copy of
// the checkout, side by side. Ends with one plain line of counts.
//   node scripts/test.mjs --stress | --units | --as-root
//       in place of these: the stress suites; the C++ units as they are shipped, each moment to die at and each call that
//       fails tried; what takes long as root, and runs as an ordinary user at each landing
import { mkdirSync, writeFileSync } from "node:fs";
import os from "node:os";
import { kUnitPrograms, runUnits } from "./lib/gtest.mjs";
import { makeOrdinaryUser } from "./lib/ordinary-user.mjs";
import { processesOf } from "./lib/processes.mjs";
import { buildDirectory, inRoot } from "./lib/project.mjs";
import { runToEnd } from "./lib/run.mjs";
import { environmentOfTests } from "./lib/sanitizer/sanitizer.mjs";
import { runSteps } from "./lib/steps.mjs";
import { closeWith, runVitest, sumOf } from "./lib/suites.mjs";
import { otherEngines } from "./platforms/engines.mjs";

const isRoot = process.getuid() === 0;
/** What is asked for in place of the usual. */
const asked = ["stress", "units", "as-root"].find((word) => process.argv.includes(`--${word}`));
const kNothing = { passed: 0, failed: [], skipped: [] };

const env = { ...process.env, NATIVE_RUNNER_TEST_AS: isRoot ? "root" : "user" };
const vitest = (projects, options = {}) => runVitest(projects, { env, ...options });

/** The ordinary user, once root has made one, and how the suites run as that user. */
let user;
const asUser = () => ({
  directory: user.checkout,
  countsDirectory: user.home,
  before: user.before,
  node: user.node,
  ...user.spawnOptions,
});
const vitestAsUser = (projects, options = {}) => runVitest(projects, { ...asUser(), ...options });

function makeUser() {
  user = makeOrdinaryUser();
  console.log(`uid ${user.uid}`);
  return kNothing;
}

/** What the ordinary user's tests left running. */
function leftBehind() {
  const left = processesOf(user.uid);
  for (const { pid, command } of left) {
    console.log(`left behind by the tests: ${command} (pid ${pid})`);
    process.kill(pid, "SIGKILL");
  }
  const failed = left.map(({ command }) => ({ name: "processes left behind", reason: command }));
  return { ...kNothing, failed };
}

async function setUp() {
  await runToEnd(inRoot("scripts", "bootstrap"), ["--ci", "--tests"]);
  // The ordinary user has no settings of npm's, and gets a copy.
  otherEngines();
  return kNothing;
}

/** Clang builds them for the fuzz targets: quicker than GCC's AddressSanitizer, with more checks. */
const kUnitPreset = "fuzz";

async function buildUnits() {
  const targets = ["launcher", ...kUnitPrograms].flatMap((name) => ["--target", name]);
  const words = ["scripts/build.mjs", "--native-only", "--preset", kUnitPreset, ...targets];
  await runToEnd(process.execPath, words);
  return kNothing;
}

/** A report of a sanitizer is a failure, whatever the test in whose process it came made of the exit code. */
async function units(options = {}) {
  const parent = options.directory === undefined ? buildDirectory(kUnitPreset) : user.home;
  const { variables, takeReports } = environmentOfTests(parent, options.directory && user.uid);
  const counts = await runUnits(kUnitPreset, {
    ...options,
    env: { ...(options.env ?? process.env), ...variables },
  });
  const reported = takeReports().map(({ name, text }) => {
    console.log(`\n== ${name}\n${text}`);
    return { name, reason: `reported:\n${text}` };
  });
  return { ...counts, failed: [...counts.failed, ...reported] };
}

/**
 * Each looks at its own processes and files only. Together they keep the processors busy: with more at a time they would
 * take as long, and what has a deadline would be late.
 */
async function asBoth(project) {
  const workers = os.availableParallelism();
  const both = [
    vitest([project], {
      workers: Math.ceil(workers / 2),
      prefix: "root | ",
      env: { ...env, NATIVE_RUNNER_ALSO_AS_USER: "1" },
    }),
    vitestAsUser([project], {
      workers: workers + 1, // it has more to run
      prefix: "user | ",
      env: { ...asUser().env, NATIVE_RUNNER_ALSO_AS_ROOT: "1" },
    }),
  ];
  return sumOf(await Promise.all(both));
}

// What looks at the kernel.
const unitsOfUser = { programs: ["launcher_tests", "supervise_tests", "workspace_tests"] };
// With a sanitizer some of the calls that fail, and of the moments to die at: `--units` tries more.
const kFewer = { NATIVE_RUNNER_FEWER_CALLS: "1" };
const first = [
  { label: "set-up", work: setUp },
  { label: "C++ units are built", work: buildUnits },
  { label: "C++ units", work: () => units({ env: { ...process.env, ...kFewer } }) },
  { label: "TypeScript units and types", work: () => vitest(["unit", "types"]) },
];
const copyForUser = { label: "a copy of the checkout for an ordinary user", work: makeUser };
const unitsAsUser = {
  label: "C++ units as an ordinary user",
  work: () => {
    const { env: own, ...others } = asUser();
    return units({ ...unitsOfUser, ...others, env: { ...own, ...kFewer } });
  },
};
const suite = (project) =>
  isRoot
    ? { label: `${project} as root and as an ordinary user`, work: () => asBoth(project) }
    : { label: project, work: () => vitest([project]) };
const end = { label: "processes left behind", work: leftBehind };

async function buildShippedUnits() {
  await runToEnd(process.execPath, ["scripts/build.mjs", "--native-only", "--tests"]);
  return kNothing;
}

const kUnitSteps = [
  { label: "set-up", work: setUp },
  { label: "C++ units are built", work: buildShippedUnits },
  { label: "C++ units", work: () => runUnits("release") },
];
const kAsRootSteps = [
  { label: "set-up", work: setUp },
  {
    label: "integration as root",
    work: () => vitest(["integration"], { env: { ...env, NATIVE_RUNNER_ALSO_AS_USER: "deep" } }),
  },
];
const usual = [...first, ...(isRoot ? [copyForUser, unitsAsUser] : []), suite("integration")];
const kSteps = {
  stress: [{ label: "set-up", work: setUp }, ...(isRoot ? [copyForUser] : []), suite("stress")],
  units: kUnitSteps,
  "as-root": kAsRootSteps,
};
const steps = asked === undefined ? usual : kSteps[asked];
const sum = sumOf(await runSteps("tests", steps.includes(copyForUser) ? [...steps, end] : steps));
console.log();
if (!isRoot) {
  console.log(
    "not run: the suites as root, since this is not root; `sudo npm test` runs both halves",
  );
}
const line = closeWith(asked === "stress" ? "stress" : "tests", sum);
if (asked === undefined) {
  mkdirSync(inRoot("build"), { recursive: true });
  writeFileSync(inRoot("build", "test-summary.txt"), `${line}\n`);
}
