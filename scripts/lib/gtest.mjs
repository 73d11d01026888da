// Runs the C++ tests: a few processes at a time, each with some of a program's tests. A test that
// crashes or hangs fails, and those that its process had still to run go on in another. No test runs
// twice.
import { spawn } from "node:child_process";
import os from "node:os";
import path from "node:path";
import readline from "node:readline";
import { GtestOutput, testsListed } from "./gtest-output.mjs";
import { buildDirectory, root } from "./project.mjs";
import { fail, outputOf } from "./run.mjs";

/** Of rooms that have threads: for ThreadSanitizer the others have nothing to see. */
export const kThreadedPrograms = ["supervise_tests", "workspace_tests"];
export const kUnitPrograms = ["policy_tests", "launcher_tests", ...kThreadedPrograms];

const kTestBoundMs = 120_000; // of one test
const kDrainMs = 5000; // for the rest of the output of a process that has ended
const kTestsAProcess = 20;
const kProcesses = os.availableParallelism() + 1; // tests wait more than they compute

/** One process with the given tests; resolves with the results of those that began. */
async function runTests([program, ...args], names, options, boundMs) {
  const words = [...args, `--gtest_filter=${names.join(":")}`, "--gtest_color=no"];
  const child = spawn(program, words, { ...options, stdio: ["ignore", "pipe", "pipe"] });
  const ended = new Promise((resolve, reject) => {
    child.on("error", reject);
    child.on("close", (code, signal) => resolve({ code, signal }));
    child.on("exit", () => setTimeout(closeOutput, kDrainMs).unref());
  });
  // What the tests left behind may hold the pipes open.
  const closeOutput = () => {
    child.stdout.destroy();
    child.stderr.destroy();
  };
  const output = new GtestOutput();
  let late = false;
  const kill = () => {
    late = true;
    child.kill("SIGKILL");
  };
  let timer = setTimeout(kill, boundMs);
  const take = (line) => {
    const before = output.results.length;
    output.take(line);
    if (output.results.length === before) return;
    clearTimeout(timer);
    timer = setTimeout(kill, boundMs);
  };
  readline.createInterface({ input: child.stdout }).on("line", take);
  readline.createInterface({ input: child.stderr }).on("line", take);
  const { code, signal } = await ended;
  clearTimeout(timer);
  const how = late ? `not done after ${boundMs} ms` : `the process ended with ${signal ?? code}`;
  if (output.current !== undefined) output.endWith(how);
  else if (code !== 0 && !output.results.some(({ state }) => state === "failed")) {
    output.current = `${path.basename(program)}: after its tests`;
    output.endWith(how);
  }
  return output.results;
}

/** All the named tests, however many processes that takes. */
async function runAll(words, names, options, boundMs) {
  const results = [];
  let left = names;
  while (left.length > 0) {
    const seen = await runTests(words, left, options, boundMs);
    results.push(...seen);
    const done = new Set(seen.map(({ name }) => name));
    const remaining = left.filter((name) => !done.has(name));
    if (remaining.length === left.length) {
      const output = seen.map((result) => result.output).join("\n");
      return [...results, ...left.map((name) => ({ name, state: "failed", output, reason: "" }))];
    }
    left = remaining;
  }
  return results;
}

/**
 * A program's tests: { passed, failed: [{ name, reason }], skipped: [{ name, reason }] }. `words` are the program and
 * what stands before and behind it; what a failed test printed is shown.
 */
export async function runGtest(words, { boundMs = kTestBoundMs, ...options } = {}) {
  const [program, ...args] = words;
  const listed = outputOf(program, [...args, "--gtest_list_tests"], options);
  if (listed === undefined) fail(`${words.join(" ")} does not list its tests`);
  const names = testsListed(listed);
  const parts = [];
  for (let at = 0; at < names.length; at += kTestsAProcess) {
    parts.push(names.slice(at, at + kTestsAProcess));
  }
  const counts = { passed: 0, failed: [], skipped: [] };
  async function work() {
    for (let part = parts.pop(); part !== undefined; part = parts.pop()) {
      for (const { name, state, output, reason } of await runAll(words, part, options, boundMs)) {
        if (state === "passed") counts.passed += 1;
        else counts[state].push({ name, reason: state === "failed" ? output : reason });
        if (state === "failed") console.log(`FAILED: ${name}\n${output}`);
      }
    }
  }
  await Promise.all(Array.from({ length: kProcesses }, work));
  return counts;
}

/**
 * The C++ tests of a built preset, or some of them, in the checkout or a copy of it (`directory`);
 * `before`, words in front of the command line, and the other options say as whom.
 */
export async function runUnits(preset, { programs = kUnitPrograms, ...options } = {}) {
  const { directory = root, before = [], env = process.env, ...spawnOptions } = options;
  const build = path.join(directory, path.relative(root, buildDirectory(preset)));
  const tests = path.join(build, "native", "tests");
  const counts = { passed: 0, failed: [], skipped: [] };
  for (const name of programs) {
    const start = performance.now();
    const words = [...before, path.join(tests, name)];
    const { passed, failed, skipped } = await runGtest(words, {
      ...spawnOptions,
      cwd: directory,
      env: {
        ...env,
        NATIVE_RUNNER_LAUNCHER: path.join(build, "launcher"),
        NATIVE_RUNNER_LAUNCHER_PROBE: path.join(tests, "launcher_probe"),
      },
    });
    const seconds = ((performance.now() - start) / 1000).toFixed(1);
    console.log(
      `${name}: ${passed} passed, ${failed.length} failed, ${skipped.length} skipped (${seconds} s)`,
    );
    counts.passed += passed;
    counts.failed.push(...failed);
    counts.skipped.push(...skipped);
  }
  return counts;
}
