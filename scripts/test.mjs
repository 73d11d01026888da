// npm test: sets up what is missing, then every test there is. As root, what needs the kernel runs
// twice: as root and as an ordinary user, in a copy of the checkout, side by side. Ends with one
// plain line of counts.
import { mkdirSync, writeFileSync } from "node:fs";
import os from "node:os";
import { runUnits } from "./lib/gtest.mjs";
import { makeOrdinaryUser } from "./lib/ordinary-user.mjs";
import { processesOf } from "./lib/processes.mjs";
import { inRoot } from "./lib/project.mjs";
import { runToEnd } from "./lib/run.mjs";
import { runSteps } from "./lib/steps.mjs";
import { closeWith, runVitest, sumOf } from "./lib/suites.mjs";
import { otherEngines } from "./platforms/engines.mjs";

const isRoot = process.getuid() === 0;
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
  await runToEnd(inRoot("scripts", "bootstrap"), ["--tests"]);
  // The ordinary user has no settings of npm's, and gets a copy.
  otherEngines();
  return kNothing;
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
const unitsOfUser = { programs: ["launcher_tests", "supervise_tests", "effects_tests"] };
// Root's units have tried more of the calls that fail and of the moments to die at.
const kFewer = { NATIVE_RUNNER_FEWER_CALLS: "1" };
const first = [
  { label: "set-up", work: setUp },
  { label: "C++ units", work: () => runUnits("release") },
  { label: "TypeScript units and types", work: () => vitest(["unit", "types"]) },
];
const asOneself = [
  { label: "integration", work: () => vitest(["integration"]) },
  { label: "stress", work: () => vitest(["stress"]) },
];
const asRootAndUser = [
  { label: "a copy of the checkout for an ordinary user", work: makeUser },
  {
    label: "C++ units as an ordinary user",
    work: () => {
      const { env: own, ...others } = asUser();
      return runUnits("release", { ...unitsOfUser, ...others, env: { ...own, ...kFewer } });
    },
  },
  { label: "integration as root and as an ordinary user", work: () => asBoth("integration") },
  { label: "stress as root and as an ordinary user", work: () => asBoth("stress") },
  { label: "processes left behind", work: leftBehind },
];

const steps = [...first, ...(isRoot ? asRootAndUser : asOneself)];
const sum = sumOf(await runSteps("tests", steps));
console.log();
if (!isRoot) {
  console.log(
    "not run: the suites as root, since this is not root; `sudo npm test` runs both halves",
  );
}
const line = closeWith("tests", sum);
mkdirSync(inRoot("build"), { recursive: true });
writeFileSync(inRoot("build", "test-summary.txt"), `${line}\n`);
