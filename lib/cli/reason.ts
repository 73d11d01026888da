/** Why a run did not end by itself, in one line, and what can be done about it. */

import type { SandboxedExecResult } from "../../types/public.js";
import { formatDuration } from "./duration.js";
import type { CliOptions } from "./options.js";
import { formatSize } from "./size.js";

/** For standard error. `said`: the run's own stderr has told it already. */
export type Reason = { message: string; fix?: string; said?: boolean };

const kLimitOptions: Readonly<Record<string, string>> = {
  memoryBytes: "--memory",
  cpuSeconds: "--cpu",
  maxProcesses: "--max-processes",
  maxOpenFiles: "--max-open-files",
  maxFileBytes: "--max-file",
};

/** How the run ended, unless the command ended by itself or by a signal of its own. */
export function endReason(result: SandboxedExecResult, options: CliOptions): Reason | undefined {
  const { outcome } = result;
  switch (outcome.kind) {
    case "exited":
    case "signaled":
      return undefined;
    case "timed-out":
      return { message: `timed out after ${formatDuration(options.timeout)} (--timeout)` };
    case "aborted":
      return { message: "interrupted" };
    case "not-found":
      return {
        message: "the command was not found in the sandbox",
        fix: "mount its folder with --ro-bind, or put it in the workspace",
        said: true,
      };
    case "not-executable":
      return {
        message: "the command can't be executed",
        fix: "check its mode, its first line (#!) and the processor it was built for",
        said: true,
      };
    case "setup-failed":
      return {
        message: `set-up failed: ${outcome.reason}`,
        fix:
          outcome.fix ??
          "check --workspace and --ro-bind; where the kernel refuses a layer, --isolation compat",
        said: true,
      };
    case "limit-exceeded": {
      const option = kLimitOptions[outcome.limit];
      return { message: `ended by its limit ${option ?? outcome.limit}` };
    }
  }
}

/** One line for each stream of which something was dropped. */
export function truncations(result: SandboxedExecResult): Reason[] {
  const reasons: Reason[] = [];
  const check = (name: string, truncated: boolean, kept: number, written: number) => {
    if (!truncated) return;
    const sizes = `${formatSize(kept)} of ${formatSize(written)} kept`;
    reasons.push({ message: `${name} truncated: ${sizes} (--max-output)` });
  };
  check("stdout", result.truncatedStdout, result.stdout.length, result.stdoutBytes);
  check("stderr", result.truncatedStderr, result.stderr.length, result.stderrBytes);
  return reasons;
}
