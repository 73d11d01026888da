// The same job in plain JavaScript, as a careful author would write it on child_process.spawn:
// the same bwrap options, capped output that is drained to its end, a deadline that kills.

import { spawn } from "node:child_process";

/** Keeps the first `limit` bytes of a stream and counts the rest. */
class Capture {
  #chunks = [];
  #kept = 0;
  #limit;
  total = 0;

  constructor(stream, limit) {
    this.#limit = limit;
    stream.on("data", (chunk) => this.#add(chunk));
  }

  #add(chunk) {
    this.total += chunk.length;
    const room = this.#limit - this.#kept;
    if (room <= 0) return;
    const part = chunk.length > room ? chunk.subarray(0, room) : chunk;
    this.#chunks.push(part);
    this.#kept += part.length;
  }

  bytes() {
    const whole = new Uint8Array(this.#kept);
    let offset = 0;
    for (const chunk of this.#chunks) {
      whole.set(chunk, offset);
      offset += chunk.length;
    }
    return whole;
  }
}

function run(sandbox, { argv, limits }) {
  return new Promise((resolve, reject) => {
    const started = Date.now();
    const child = spawn(sandbox.cmd, [...sandbox.options, "--", ...argv], {
      stdio: ["ignore", "pipe", "pipe"],
    });
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

export function open({ sandbox }) {
  return { exec: (input) => run(sandbox, input) };
}
