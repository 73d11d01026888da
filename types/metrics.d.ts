/**
 * What `runner.metrics()` tells, and what is published on the diagnostics channels. No code lives here.
 */

import type { Outcome, PoolState, SandboxedAuditRecord } from "./public.js";

/** How long one part of the runs took, in milliseconds. All 0 when no run came to it. */
export type PhaseMetrics = {
  /** Runs that came to it. */
  count: number;
  /** Their mean. */
  meanMs: number;
  /** The longest. */
  maxMs: number;
  /** Percentiles, to within 1 %; a day at most. */
  p50Ms: number;
  /** As `p50Ms`. */
  p95Ms: number;
  /** As `p50Ms`. */
  p99Ms: number;
};

/** Bytes that commands wrote to one stream. */
export type StreamMetrics = {
  /** Part of a result. */
  kept: number;
  /** Drained and counted, being over the limit. */
  dropped: number;
};

/** What a runner has done since it was made. Survives `JSON.stringify`. */
export type RunnerMetrics = {
  /** Calls of `exec`, `spawn` and the sessions' own, by what became of them. */
  runs: {
    /** Accepted and not yet settled: queued or under way. */
    pending: number;
    /** Calls of `exec` without an outcome: misuse, or no sandbox can exist here. */
    rejected: number;
    /** Runs in a sandbox that was made before. */
    prewarmed: number;
    /** Settled runs by `outcome.kind`; every kind is there. */
    outcomes: Record<Outcome["kind"], number>;
  };
  /** See `RunTiming`; `total` is the sum of the four. */
  phases: Record<"queue" | "setup" | "command" | "teardown" | "total", PhaseMetrics>;
  /** Hits are `taken`, misses `missed`. All 0 for runners without standing sandboxes. */
  pool: PoolState;
  /** What commands wrote. */
  bytes: Record<"stdout" | "stderr", StreamMetrics>;
  /** Runs that did not end by themselves alone. */
  kills: {
    /** Runs in which processes had to be killed: deadline, abort, or left behind by the command. */
    requested: number;
    /** Of these, the runs after which all are known to be gone. */
    proved: number;
  };
};

/** Published on `@openagentic/native-runner:run.start`, in the caller's async context. */
export type RunStartMessage = {
  /** Number of the run, unique in its Node environment. */
  run: number;
  /** Number of the runner, unique in its Node environment. */
  runner: number;
  /** As in the audit. */
  policyHash: string;
  /** A copy. May hold secrets, if the host puts such on command lines. */
  argv: string[];
  /** As the caller wrote it. */
  cwd: string | undefined;
};

/**
 * Published on `@openagentic/native-runner:run.end`, once for each start, before `exec` settles:
 * with the record of a run that has an outcome, or with the error of one that has none.
 */
export type RunEndMessage = {
  /** As in {@link RunStartMessage}. */
  run: number;
  /** As in {@link RunStartMessage}. */
  runner: number;
  /** As in the audit. */
  policyHash: string;
} & (
  | {
      /** The result's own record, not a copy: not to be changed. */
      audit: SandboxedAuditRecord;
      /** What the command wrote. */
      bytes: RunnerMetrics["bytes"];
      /** There is none. */
      error?: undefined;
    }
  | {
      /** There is none. */
      audit?: undefined;
      /** Not known. */
      bytes?: undefined;
      /** What the call rejects with. */
      error: unknown;
    }
);

/**
 * Published on `@openagentic/native-runner:pool` after a run, `warm()` and `close()`, when the pool is
 * not what it was when last published. What happens in between, as when an idle pool goes away, shows
 * with the next one.
 */
export type PoolMessage = {
  /** Number of the runner, unique in its Node environment. */
  runner: number;
  /** What its standing sandboxes are doing. */
  pool: PoolState;
};
