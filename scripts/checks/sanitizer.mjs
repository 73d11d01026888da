// Runs the C++ tests and the integration suite under a sanitizer, which sees nothing of ours in the
// TypeScript units: those have a fake addon.
//   node scripts/checks/sanitizer.mjs asan|tsan [--units]     (asan includes UBSan)
// With --units the C++ tests only; under ThreadSanitizer those of the rooms that have threads.
// The addon is loaded into stock Node, so the runtime is preloaded. Leaks are looked for in the C++
// tests only: V8 leaks at exit by design, and would hide ours. Node's own code carries no
// instrumentation; scripts/tsan.supp says what that means for ThreadSanitizer.
import path from "node:path";
import { neededLibraries } from "../lib/elf.mjs";
import { kThreadedPrograms, kUnitPrograms, runUnits } from "../lib/gtest.mjs";
import { buildDirectory, inRoot } from "../lib/project.mjs";
import { fail, runToEnd } from "../lib/run.mjs";
import { checkThatFaultsAreFound, environmentsOf } from "../lib/sanitizer/sanitizer.mjs";
import { runSteps } from "../lib/steps.mjs";
import { closeWith, runVitest, sumOf } from "../lib/suites.mjs";

const sanitizer = process.argv[2];
if (sanitizer !== "asan" && sanitizer !== "tsan") {
  console.error("usage: node scripts/checks/sanitizer.mjs asan|tsan [--units]");
  process.exit(2);
}

const inNode = !process.argv.includes("--units");
const programs = !inNode && sanitizer === "tsan" ? kThreadedPrograms : kUnitPrograms;

const kNothing = { passed: 0, failed: [], skipped: [] };

async function build() {
  await runToEnd(inRoot("scripts", "bootstrap"), ["--ci", "--no-build"]);
  const words = ["scripts/build.mjs", "--preset", sanitizer];
  const targets = ["launcher", ...programs].flatMap((name) => ["--target", name]);
  // Tests of the commands need the addon, and dist/.
  const only = inNode ? ["--tests"] : ["--native-only", ...targets];
  await runToEnd(process.execPath, [...words, ...only]);
  const built = inNode ? "native_runner.node" : path.join("native", "tests", "supervise_tests");
  const program = path.join(buildDirectory(sanitizer), built);
  if (!neededLibraries(program).some((name) => name.startsWith(`lib${sanitizer}.so`))) {
    fail(`${program} is not instrumented`);
  }
  return kNothing;
}

let environments;

function units() {
  environments = environmentsOf(sanitizer);
  if (inNode) checkThatFaultsAreFound(sanitizer, environments);
  return runUnits(sanitizer, { programs, env: environments.inTests });
}

function integration() {
  const testAs = process.getuid() === 0 ? "root" : "user";
  return runVitest(["integration"], {
    env: { ...environments.inNode, NATIVE_RUNNER_TEST_AS: testAs },
  });
}

const steps = [
  { label: "set-up", work: build },
  { label: "C++ units", work: units },
  ...(inNode ? [{ label: "integration", work: integration }] : []),
];
const sum = sumOf(await runSteps(sanitizer, steps));
for (const { name, text } of environments.takeReports()) {
  console.log(`\n== ${name}\n${text}`);
  sum.failed.push({ name, reason: "reported" });
}
closeWith(sanitizer, sum);
