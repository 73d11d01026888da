/** Describes how a command ended, in words for a model. Pure. */

import { existsSync } from "node:fs";

import type { SandboxedExecResult } from "../../types/public.js";

/** A refused call, with a message for the model. */
export class ToolError extends Error {}

/** The deadline of a command in milliseconds, and the operator's, which is the longest; undefined: none. */
export type Deadlines = { timeoutMs?: number | undefined; mostMs?: number | undefined };

function timedOutWords({ timeoutMs, mostMs }: Deadlines): string {
  const ended = `timed out after ${timeoutMs ?? "its"} ms, and all its processes were ended`;
  if (mostMs !== undefined && timeoutMs !== undefined && timeoutMs >= mostMs) {
    return `${ended}. This is the operator's limit: no timeoutMs is longer. Use start, or do less at once`;
  }
  const most = mostMs === undefined ? "" : ` (at most ${mostMs})`;
  return `${ended}: give it a larger timeoutMs${most}, or use start`;
}

/** Describes an outcome; "" for exit code 0. */
export function outcomeWords(
  { outcome, exitCode }: Pick<SandboxedExecResult, "outcome" | "exitCode">,
  deadlines: Deadlines = {},
): string {
  switch (outcome.kind) {
    case "exited":
      return exitCode === 0 ? "" : `exit code ${exitCode}`;
    case "signaled":
      return `ended by ${outcome.signal}`;
    case "timed-out":
      return timedOutWords(deadlines);
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

/** Splits bytes of text into parts at character boundaries. Pure. */

const kContinuation = 0b1000_0000;
const kContinuationMask = 0b1100_0000;
const kLongestCharacter = 4;

/** Returns the position at or before `at` where a UTF-8 character begins. */
export function characterStart(bytes: Uint8Array, at: number): number {
  for (let back = 0; back < kLongestCharacter && at - back > 0; back += 1) {
    const byte = bytes[at - back];
    if (byte === undefined || (byte & kContinuationMask) !== kContinuation) return at - back;
  }
  return at;
}

/** Splits bytes into parts of at most `most`; returns one empty part for no bytes. */
export function partsOf(bytes: Uint8Array, most: number): Uint8Array[] {
  const parts: Uint8Array[] = [];
  for (let from = 0; from < bytes.length || from === 0; ) {
    const end = from + most >= bytes.length ? bytes.length : characterStart(bytes, from + most);
    parts.push(bytes.subarray(from, end));
    if (end === bytes.length) break;
    from = end;
  }
  return parts;
}

/** Decodes UTF-8, with U+FFFD for malformed bytes. */
export const textOf = (bytes: Uint8Array): string => new TextDecoder().decode(bytes);

/**
 * Returns the first and last half of a text that is longer than `most` bytes, with a line between them that states how
 * many bytes are left out and where to find them.
 */
export function shortened(bytes: Uint8Array, most: number, where: string): string {
  if (bytes.length <= most) return textOf(bytes);
  const half = Math.floor(most / 2);
  const headEnd = characterStart(bytes, most - half);
  const tailStart = characterStart(bytes, bytes.length - half);
  const left = tailStart - headEnd;
  const head = textOf(bytes.subarray(0, headEnd));
  return `${head}\n[… ${left} bytes left out${where} …]\n${textOf(bytes.subarray(tailStart))}`;
}

const kShells = ["/bin/bash", "/usr/bin/bash"];

/**
 * Returns the arguments that run a command line: with bash if this host has it, since models write for it, else with
 * sh.
 */
export function shellWords(line: string): string[] {
  const shell = kShells.find((path) => existsSync(path)) ?? "/bin/sh";
  return [shell, "-c", "--", line]; // "--": a line that begins with a dash is no option
}
