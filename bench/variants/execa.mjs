// execa running the same bwrap command. It can't drain what is over its cap (it ends the command
// there), so it takes no part where output is dropped.

import { execa } from "execa";

export function open({ sandbox }) {
  return {
    async exec({ argv, limits }) {
      const result = await execa(sandbox.cmd, [...sandbox.options, "--", ...argv], {
        stdin: "ignore",
        encoding: "buffer",
        stripFinalNewline: false,
        maxBuffer: { stdout: limits.maxStdoutBytes, stderr: limits.maxStderrBytes },
        timeout: limits.timeoutMs,
        killSignal: "SIGKILL",
        reject: false,
      });
      return {
        exitCode: result.exitCode,
        stdout: result.stdout,
        stderr: result.stderr,
        stdoutBytes: result.stdout.length,
      };
    },
  };
}
