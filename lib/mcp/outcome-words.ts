/** How a command ended, in words for a model. Pure. */

import type { SandboxedExecResult } from "../../types/public.js";

/** "" where it exited with 0. */
export function outcomeWords({
  outcome,
  exitCode,
}: Pick<SandboxedExecResult, "outcome" | "exitCode">): string {
  switch (outcome.kind) {
    case "exited":
      return exitCode === 0 ? "" : `exit code ${exitCode}`;
    case "signaled":
      return `ended by ${outcome.signal}`;
    case "timed-out":
      return "timed out, and all its processes were ended: give it a larger timeoutMs, or use start";
    case "aborted":
      return "ended before it was done";
    case "not-found":
      return "the program was not found in the sandbox";
    case "not-executable":
      return "the program can't be executed";
    case "setup-failed":
      return `the sandbox could not be made, and nothing ran: ${outcome.reason}`;
    case "lease-expired":
      return "its lease expired, and all its processes were ended";
    case "lost":
      return `how it ended is not known: ${outcome.reason}`;
    case "queue-timeout":
      return `it was not started: ${outcome.reason}`;
    case "limit-exceeded":
      return `ended by its limit ${outcome.limit}, which the operator has set`;
  }
}
