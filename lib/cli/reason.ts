/** Why a run did not end by itself, in one line, and what can be done about it. */

import type { Outcome, SandboxedExecResult } from "../../types/public.js";
import type { CliOptions } from "./options.js";
import { formatDuration } from "./values/duration.js";
import { formatSize } from "./values/size.js";
import { inCliWords, kLimitOptions } from "./wording.js";

/** For standard error. `said`: the run's own stderr has told it already. */
export type Reason = { message: string; fix?: string; said?: boolean };

/** Signals by which programs end that are given no memory: by themselves, or by the kernel. */
const kShortOfMemory: readonly string[] = ["SIGSEGV", "SIGBUS", "SIGABRT", "SIGKILL"];

/** A signal is the command's own affair, unless a limit that the caller set may be behind it. */
function signalReason(signal: string, { memory }: CliOptions): Reason | undefined {
  if (memory === undefined || !kShortOfMemory.includes(signal)) return undefined;
  return {
    message: `ended by ${signal}, under --memory ${formatSize(memory)}`,
    fix: "a program that gets no more memory often ends so: try a larger --memory",
  };
}

/** What can be done about a set-up that failed. A path that is wrong is no reason for less isolation. */
function setupFix({ reason, fix }: Extract<Outcome, { kind: "setup-failed" }>): string {
  if (fix !== undefined) return inCliWords(fix);
  if (reason.startsWith("cannot enter ")) {
    return "--cwd names a directory of the workspace: create it, or leave it out";
  }
  return "`native-runner doctor` tells what works here, and what would help";
}

/** How the run ended, unless the command ended by itself or by a signal of its own. */
export function endReason(result: SandboxedExecResult, options: CliOptions): Reason | undefined {
  const { outcome } = result;
  switch (outcome.kind) {
    case "exited":
      return undefined;
    case "signaled":
      return signalReason(outcome.signal, options);
    case "timed-out":
      return { message: `timed out after ${formatDuration(options.timeout)} (--timeout)` };
    case "aborted":
      return { message: "interrupted" };
    case "lease-expired":
      return { message: "its lease expired" };
    case "lost":
      return { message: `how it ended is not known: ${outcome.reason}` };
    case "queue-timeout":
      return { message: `it was not started: ${outcome.reason}` };
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
      return { message: inCliWords(outcome.reason), fix: setupFix(outcome) };
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
