// Running programs from scripts: always an argument array, never a shell.
import { spawn, spawnSync } from "node:child_process";
import readline from "node:readline";
import { root } from "./project.mjs";

/** Stops the script with a plain message, no stack trace. */
export function fail(message) {
  console.error(message);
  process.exit(1);
}

const describe = (file, args) => [file, ...args].join(" ");

/** Runs a program with our own output; returns its exit code (128 + n after a signal). */
export function tryRun(file, args, options = {}) {
  const result = spawnSync(file, args, {
    cwd: root,
    stdio: ["ignore", "inherit", "inherit"],
    ...options,
  });
  if (result.error) fail(`${describe(file, args)}: ${result.error.message}`);
  return result.status ?? 1;
}

/** Like tryRun, and stops the script when the program fails. */
export function run(file, args, options) {
  const status = tryRun(file, args, options);
  if (status !== 0) fail(`${describe(file, args)} failed (${status})`);
}

/** Like run, but shows the output only when the program fails; then `without` some of it. */
export function runQuietly(file, args, { without = /$^/g, ...options } = {}) {
  const result = spawnSync(file, args, {
    cwd: root,
    stdio: ["ignore", "pipe", "pipe"],
    encoding: "utf8",
    maxBuffer: Infinity,
    ...options,
  });
  if (result.error) fail(`${describe(file, args)}: ${result.error.message}`);
  if (result.status !== 0) {
    process.stdout.write(result.stdout.replace(without, ""));
    process.stderr.write(result.stderr);
    fail(`${describe(file, args)} failed (${result.status ?? result.signal})`);
  }
  return result.stdout;
}

/** A program's standard output, or undefined when it can't run or fails. */
export function outputOf(file, args, options = {}) {
  const result = spawnSync(file, args, {
    cwd: root,
    encoding: "utf8",
    maxBuffer: Infinity,
    ...options,
  });
  return result.status === 0 ? result.stdout : undefined;
}

/** Runs a program while others run; resolves with its code and its output, errors included. */
export function runBeside(file, args, options = {}) {
  return new Promise((resolve, reject) => {
    const child = spawn(file, args, { cwd: root, stdio: ["ignore", "pipe", "pipe"], ...options });
    let output = "";
    child.stdout.setEncoding("utf8").on("data", (text) => (output += text));
    child.stderr.setEncoding("utf8").on("data", (text) => (output += text));
    child.on("error", reject);
    child.on("close", (code) => resolve({ code: code ?? 1, output }));
  });
}

/**
 * Like tryRun, while others run: resolves with the exit code. With a `prefix` each line of its output
 * starts with that, so that two can be told apart.
 */
export async function tryRunBeside(file, args, { prefix = "", ...options } = {}) {
  const output = prefix === "" ? "inherit" : "pipe";
  const stdio = ["ignore", output, output];
  const child = spawn(file, args, { cwd: root, stdio, ...options });
  const ended = new Promise((resolve, reject) => {
    child.on("error", reject);
    child.on("close", (code) => resolve(code ?? 1));
  });
  for (const input of [child.stdout, child.stderr].filter(Boolean)) {
    readline.createInterface({ input }).on("line", (line) => console.log(`${prefix}${line}`));
  }
  return ended;
}

/** Like run, while others run. */
export async function runToEnd(file, args, options) {
  const status = await tryRunBeside(file, args, options);
  if (status !== 0) throw new Error(`${describe(file, args)} failed (${status})`);
}

/** The set-up that a script needs before it can import anything of node_modules. */
export function bootstrap(...args) {
  const status = tryRun(`${root}/scripts/bootstrap`, args);
  if (status !== 0) process.exit(status);
}
