// Runs the C++ tests and the integration suite under a sanitizer, which sees nothing of ours in the
// TypeScript units: those have a fake addon.
//   node scripts/checks/sanitizer.mjs asan|tsan [--units]     (asan includes UBSan)
// With --units the C++ tests only: under ThreadSanitizer those of the rooms that have threads, under
// AddressSanitizer as Clang builds them for the fuzz targets, which is quicker and has more checks.
// The addon is loaded into stock Node, so the runtime is preloaded. Leaks are looked for in the C++
// tests only: V8 leaks at exit by design, and would hide ours. Node's own code carries no
// instrumentation; scripts/tsan.supp says what that means for ThreadSanitizer.
import { spawnSync } from "node:child_process";
import path from "node:path";
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
const preset = !inNode && sanitizer === "asan" ? "fuzz" : sanitizer;
const programs = !inNode && sanitizer === "tsan" ? kThreadedPrograms : kUnitPrograms;

const kNothing = { passed: 0, failed: [], skipped: [] };

async function build() {
  await runToEnd(inRoot("scripts", "bootstrap"), ["--ci", "--no-build"]);
  const words = ["scripts/build.mjs", "--preset", preset];
  const targets = ["launcher", ...programs].flatMap((name) => ["--target", name]);
  // Tests of the commands need the addon, and dist/.
  const only = inNode ? ["--tests"] : ["--native-only", ...targets];
  await runToEnd(process.execPath, [...words, ...only]);
  expectInstrumented(path.join(buildDirectory(preset), "native", "tests", "supervise_tests"));
  return kNothing;
}

/** Its runtime must be in it: it answers when it is asked for its options. */
function expectInstrumented(program) {
  const env = { ...process.env, ASAN_OPTIONS: "help=1", TSAN_OPTIONS: "help=1" };
  const { stderr } = spawnSync(program, ["--gtest_list_tests"], { env, encoding: "utf8" });
  const name = { asan: "AddressSanitizer", tsan: "ThreadSanitizer" }[sanitizer];
  if (!stderr.includes(`Available flags for ${name}`)) fail(`${program} is not instrumented`);
}

let environments;

function units() {
  environments = environmentsOf(sanitizer);
  if (inNode) checkThatFaultsAreFound(sanitizer, environments);
  // Without a sanitizer they have tried more of the calls that fail.
  const fewer = inNode ? {} : { NATIVE_RUNNER_FEWER_CALLS: "1" };
  return runUnits(preset, { programs, env: { ...environments.inTests, ...fewer } });
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
