// Runs the C++ tests and the unit and integration suites under a sanitizer:
//   node scripts/checks/sanitizer.mjs asan|tsan [--units]     (asan includes UBSan)
// With --units the C++ tests only.
// The addon is loaded into stock Node, so the runtime is preloaded. Leaks are looked for in the C++
// tests only: V8 leaks at exit by design, and would hide ours. Node's own code carries no
// instrumentation; scripts/tsan.supp says what that means for ThreadSanitizer.
import path from "node:path";
import { neededLibraries } from "../lib/elf.mjs";
import { buildDirectory } from "../lib/project.mjs";
import { bootstrap, fail, run } from "../lib/run.mjs";
import { checkThatFaultsAreFound, environmentsOf } from "../lib/sanitizer.mjs";
import { closeWith, printSkipped, runCtest, runVitest, sumOf } from "../lib/suites.mjs";

const sanitizer = process.argv[2];
if (sanitizer !== "asan" && sanitizer !== "tsan") {
  console.error("usage: node scripts/checks/sanitizer.mjs asan|tsan [--units]");
  process.exit(2);
}

const inNode = !process.argv.includes("--units");

bootstrap("--ci");
const build = ["scripts/build.mjs", "--tests", "--preset", sanitizer];
run(process.execPath, inNode ? build : [...build, "--native-only"]); // tests of the commands need dist/

const addon = path.join(buildDirectory(sanitizer), "native_runner.node");
if (!neededLibraries(addon).some((name) => name.startsWith(`lib${sanitizer}.so`))) {
  fail(`${addon} is not instrumented`);
}

const environments = environmentsOf(sanitizer);
if (inNode) checkThatFaultsAreFound(sanitizer, environments);

console.log(`\n== C++ units under ${sanitizer}`);
const results = [runCtest(sanitizer, { env: environments.inTests })];
if (inNode) {
  console.log(`\n== unit and integration suites under ${sanitizer}`);
  const testAs = process.getuid() === 0 ? "root" : "user";
  const env = { ...environments.inNode, NATIVE_RUNNER_TEST_AS: testAs };
  results.push(runVitest(["unit", "integration"], { env }));
}

const sum = sumOf(results);
for (const { name, text } of environments.takeReports()) {
  console.log(`\n== ${name}\n${text}`);
  sum.failed += 1;
}
printSkipped(sum.skipped);
closeWith(sanitizer, sum);
