/** What is told of a session or transaction that is over. Pure. */

import { SandboxError } from "../../../errors.js";
import { errorOf } from "../../wire/errors.js";
import type { RunEnd } from "../remote-run.js";

export function whyOver(end: RunEnd): string {
  if (end.kind === "ended" && typeof end.value === "string") return end.value;
  if (end.kind === "lost" || end.kind === "queue-timeout") return `it was lost: ${end.reason}`;
  return "it was closed";
}

/** Why it did not begin. */
export function expectBegun(end: RunEnd, what: string, isAborted: boolean): Error {
  if (end.kind === "failed") return end.error;
  if (end.kind === "ended" && end.error && !isAborted) return errorOf(end.error);
  return new SandboxError(`${what}: ${whyOver(end)}`, {
    code: isAborted ? "ERR_SANDBOX_CLOSED" : "ERR_SANDBOX_UNAVAILABLE",
  });
}
