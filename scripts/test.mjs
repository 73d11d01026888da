// npm test: sets up what is missing, then every test there is. As root, what needs the kernel runs
// twice: as root and as an ordinary user. Ends with one plain line of counts.
import { mkdirSync, writeFileSync } from "node:fs";
import { makeOrdinaryUser } from "./lib/ordinary-user.mjs";
import { processesOf } from "./lib/processes.mjs";
import { inRoot } from "./lib/project.mjs";
import { bootstrap } from "./lib/run.mjs";
import { closeWith, printSkipped, runCtest, runGtest, runVitest, sumOf } from "./lib/suites.mjs";

const isRoot = process.getuid() === 0;
const heading = (text) => console.log(`\n== ${text}`);

function runAsOrdinaryUser() {
  const user = makeOrdinaryUser();
  const { checkout: directory, home: countsDirectory, node, before, spawnOptions } = user;
  const options = { directory, countsDirectory, before, ...spawnOptions };
  heading(`C++ units that look at the kernel, as an ordinary user (uid ${user.uid})`);
  const units = ["launcher_tests", "supervise_tests"].map((name) => runGtest(name, options));
  heading(`integration and stress, as an ordinary user (uid ${user.uid})`);
  const counts = sumOf([...units, runVitest(["integration", "stress"], { ...options, node })]);
  const left = processesOf(user.uid);
  for (const { pid, command } of left) {
    console.log(`left behind by the tests: ${command} (pid ${pid})`);
    process.kill(pid, "SIGKILL");
  }
  return { ...counts, failed: counts.failed + (left.length > 0 ? 1 : 0) };
}

bootstrap("--tests");

heading("C++ units");
const results = [runCtest("release")];

heading(
  `TypeScript units, types, integration and stress, as ${isRoot ? "root" : "an ordinary user"}`,
);
const env = { ...process.env, NATIVE_RUNNER_TEST_AS: isRoot ? "root" : "user" };
results.push(runVitest(["unit", "types", "integration", "stress"], { env }));

if (isRoot) results.push(runAsOrdinaryUser());
else
  heading("not run: the suites as root, since this is not root; `sudo npm test` runs both halves");

const sum = sumOf(results);
console.log();
printSkipped(sum.skipped);
const line = closeWith("tests", sum);
mkdirSync(inRoot("build"), { recursive: true });
writeFileSync(inRoot("build", "test-summary.txt"), `${line}\n`);
