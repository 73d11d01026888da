// What a careful author writes on child_process.spawn: capped output that is drained to its end, a
// deadline that kills. Shared by all variants that start a program from JavaScript themselves.

import { spawn } from "node:child_process";

import { Capture } from "./capture.mjs";

/** Resolves when the program has ended and its output is read. `shell`: `cmd` is a command line. */
export function runSpawned(cmd, args, { limits, shell = false }) {
  return new Promise((resolve, reject) => {
    const started = Date.now();
    const child = spawn(cmd, args, { stdio: ["ignore", "pipe", "pipe"], shell });
    const stdout = new Capture(child.stdout, limits.maxStdoutBytes);
    const stderr = new Capture(child.stderr, limits.maxStderrBytes);
    let timedOut = false;
    const deadline = setTimeout(() => {
      timedOut = true;
      child.kill("SIGKILL");
    }, limits.timeoutMs);
    child.on("error", (error) => {
      clearTimeout(deadline);
      reject(error);
    });
    child.on("close", (code, signal) => {
      clearTimeout(deadline);
      resolve({
        exitCode: timedOut ? 124 : (code ?? 1),
        signal,
        timedOut,
        stdout: stdout.bytes(),
        stderr: stderr.bytes(),
        stdoutBytes: stdout.total,
        stderrBytes: stderr.total,
        durationMs: Date.now() - started,
      });
    });
  });
}
