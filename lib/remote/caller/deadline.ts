/**
 * The end of a caller's waits for a worker that gives signs of life and yet never ends a run: a fault there, or malice.
 * A worker that is silent is the subject of watch.ts.
 */

import type { RunKind } from "../wire/messages.js";
import { fromPlain } from "../wire/plain.js";

/** Milliseconds that a worker may take to begin, or to move a workspace, without a message about the run. */
const kSetupMs = 60_000;
/** Milliseconds without a message after the run's own deadline; its worker has ended the command by then. */
const kGraceMs = 30_000;
/** Milliseconds from an abort to the end. */
const kAbortMs = 30_000;
/** Milliseconds that moving a workspace or output may take in all, each way, however slowly messages come. */
const kMostMoveMs = 3_600_000;
/** Milliseconds for an operation of a session or transaction, such as `commit`, besides its own `timeoutMs`. */
const kCallMs = 600_000;
/** Milliseconds of the longest timer; a longer one fires at once. */
export const kLongestTimerMs = 2 ** 31 - 1;
/** Deadline of a command that asks for none; a worker's policy can only lower it. */
const kDefaultTimeoutMs = 60_000;

/** The times of a granted run; see `RemoteRun`. */
type GrantedRun = {
  readonly timeoutMs: number;
  readonly grantedAt: number;
  readonly progressAt: number;
  readonly begunAt: number;
  readonly abortedAt: number;
  readonly hasBegun: boolean;
  readonly isAborted: boolean;
};

type Timed = { limits?: { timeoutMs?: unknown }; commands?: unknown[]; timeoutMs?: unknown };

function timeoutOf(input: unknown): number | undefined {
  const asked = fromPlain((input as Timed | null)?.limits?.timeoutMs);
  return typeof asked === "number" ? asked : undefined;
}

/**
 * Returns the milliseconds that a run may take once it has begun; Infinity for one without a deadline. Values that the
 * worker will refuse count as none.
 */
export function timeoutOfRequest({ kind, input }: { kind: RunKind; input: unknown }): number {
  switch (kind) {
    case "exec":
      return timeoutOf(input) ?? kDefaultTimeoutMs;
    case "spawn":
      return timeoutOf(input) ?? Number.POSITIVE_INFINITY; // as long as the worker's policy allows
    case "batch": {
      const { commands = [] } = input as Timed;
      return commands.reduce<number>(
        (sum, each) => sum + (timeoutOf(each) ?? kDefaultTimeoutMs),
        0,
      );
    }
    case "explain":
      return 0;
    case "session":
    case "transaction":
      return Number.POSITIVE_INFINITY;
  }
}

/** Returns the milliseconds after which an operation counts as unanswered. */
export function callTimeoutOf(args: readonly unknown[]): number {
  const own = args.map((each) => (each as Timed | null | undefined)?.timeoutMs);
  const most = own.reduce<number>(
    (sum, each) => sum + (typeof each === "number" ? each : 0),
    kCallMs,
  );
  return Math.min(most, kLongestTimerMs);
}

/**
 * Returns why the caller waits no longer for a granted run; undefined while it waits. Times are of `performance.now()`.
 * Pure.
 */
export function overdue(run: GrantedRun, now: number): string | undefined {
  const silence = now - Math.max(run.grantedAt, run.progressAt);
  if (run.isAborted) {
    return now - run.abortedAt > kAbortMs ? `${seconds(kAbortMs)} after it was aborted` : undefined;
  }
  if (!run.hasBegun) {
    if (silence > kSetupMs) return `and has not begun it for ${seconds(kSetupMs)}`;
    return now - run.grantedAt > kMostMoveMs
      ? `${seconds(kMostMoveMs)} after it was granted`
      : undefined;
  }
  const late = now - run.begunAt - run.timeoutMs;
  if (late > kMostMoveMs || (late > kGraceMs && silence > kGraceMs)) {
    return `${seconds(late)} after its deadline`;
  }
  return undefined;
}

const seconds = (ms: number) => `${Math.floor(ms / 1_000)} s`;
