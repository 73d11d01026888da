// npm run test:repeat -- FILE... [--times 50] [--busy] [--project integration]: runs test files many times, each time in a
// Vitest of its own, to find the one that fails by itself. Stops at the first failure, and shows that run's output.
//   FILE      a part of a test file's path; none: every file of the project
//   --times   runs of each file
//   --busy    beside a load that keeps each processor busy
import { spawn } from "node:child_process";
import { readdirSync } from "node:fs";
import os from "node:os";
import { parseArgs } from "node:util";
import { inRoot, nodeProgram, root } from "./lib/project.mjs";
import { fail, runBeside } from "./lib/run.mjs";
import { durationText } from "./lib/steps.mjs";

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    busy: { type: "boolean", default: false },
    project: { type: "string", default: "integration" },
    times: { type: "string", default: "50" },
  },
});
const times = Number(values.times);
if (!(Number.isInteger(times) && times > 0)) {
  fail(`--times: expected a positive integer, got ${values.times}`);
}

const directory = { integration: "integration", stress: "stress" }[values.project] ?? "";
const files = readdirSync(inRoot("__tests__", directory), { recursive: true, encoding: "utf8" })
  .filter((name) => name.endsWith(".test.ts"))
  .map((name) => `__tests__/${directory === "" ? "" : `${directory}/`}${name}`)
  .filter((name) => positionals.length === 0 || positionals.some((part) => name.includes(part)));
if (files.length === 0) fail(`no test file of ${values.project} has ${positionals.join(" or ")}`);

/** One process for each processor that computes until it is ended. */
function startLoad() {
  const loop = "for (;;) Math.sqrt(Math.random());";
  const load = os
    .cpus()
    .map(() => spawn(process.execPath, ["-e", loop], { stdio: "ignore", detached: false }));
  process.once("exit", () => {
    for (const child of load) child.kill("SIGKILL");
  });
}

if (values.busy) startLoad();
const env = {
  ...process.env,
  NO_COLOR: "1",
  NATIVE_RUNNER_TEST_AS: process.getuid() === 0 ? "root" : "user",
};
for (const file of files) {
  const start = performance.now();
  for (let at = 1; at <= times; at += 1) {
    const words = [nodeProgram("vitest"), "run", "--project", values.project, file];
    const { code, output } = await runBeside(process.execPath, words, { cwd: root, env });
    if (code !== 0) {
      console.log(output);
      fail(`${file}: failed in run ${at} of ${times}`);
    }
  }
  const seconds = (performance.now() - start) / 1000;
  console.log(`${file}: ${times} of ${times} runs passed (${durationText(seconds)})`);
}
process.exit(0);
