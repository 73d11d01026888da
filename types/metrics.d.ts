/**
 * What `runner.metrics()` tells, and what is published on the diagnostics channels. No code lives here.
 */

import type { NetworkConnection, Outcome, PoolState, SandboxedAuditRecord } from "./public.js";
import type { TransactionAudit } from "./transaction.js";

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

/** What became of a runner's transactions, or of one that is asked itself. All 0 where there are none. */
export type TransactionMetrics = {
  /** Those that were opened, and neither closed nor discarded since. */
  open: number;
  /** Calls of `openTransaction` and `resumeTransaction` that gave one. */
  opened: number;
  /** Commits that were done, also those of nothing. */
  commits: number;
  /** Commits that were taken back. */
  undos: number;
  /** Checkpoints that were made. */
  checkpoints: number;
  /** Rollbacks that were done. */
  rollbacks: number;
  /** Transactions that were discarded. */
  discards: number;
  /** Commits and undos that the host's own changes forbade. */
  conflicts: number;
  /** Commits that were refused because of protected paths. */
  protected: number;
  /** Commits that were refused because something was not what was expected. */
  unexpected: number;
  /** Calls that rejected for another reason, misuse apart. */
  failed: number;
  /** Paths that commits have written or removed. */
  paths: number;
  /** Bytes of the regular files among them, as they are now. */
  bytes: number;
};

/** Connections that were alike in something. */
export type ConnectionMetrics = {
  /** How many. */
  connections: number;
  /** Bytes that commands sent over them. */
  bytesOut: number;
  /** Bytes that came back. */
  bytesIn: number;
};

/** What a runner's commands connected to, with a network by domain. All 0 without. */
export type NetworkMetrics = {
  /** Connections that were allowed, also those that failed then. */
  allowed: number;
  /** Those that were refused. */
  denied: number;
  /** Those that audits had no place for. */
  omitted: number;
  /**
   * The allowed ones by the rule that allowed them, "onRequest" for answers; of more than 100 rules those
   * that came later are "other". Names of hosts are a command's to choose, rules are yours.
   */
  byRule: Record<string, ConnectionMetrics>;
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
    /** Runs in a sandbox that was cloned from a template for them. */
    cloned: number;
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
    /** Runs in which processes had to be killed: deadline, lease, abort, or left behind by the command. */
    requested: number;
    /** Of these, the runs after which all are known to be gone. */
    proved: number;
  };
  /** What became of transactions. */
  transactions: TransactionMetrics;
  /** What commands connected to. */
  network: NetworkMetrics;
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

/**
 * Published on `@openagentic/native-runner:transaction` when a commit, an undo, a checkpoint, a
 * rollback or a discard has settled, before its call does. Misuse is not told.
 */
export type TransactionMessage = {
  /** Number of the transaction as a runner, as its runs have it; unique in its Node environment. */
  runner: number;
  /** The record; of a commit, the report's own, not a copy: not to be changed. */
  audit: TransactionAudit;
};

/** "refused" is all that came to no connection, also where one was allowed and failed. */
export type ConnectionEvent = "opened" | "refused" | "ended";

/**
 * Published on `@openagentic/native-runner:connection` as a connection opens or is refused, and as it ends,
 * while the command runs: of runs that began when somebody had subscribed. Once for denials that are one
 * entry of the audit's `connections`, and never for what is only counted there; before `run.end`.
 */
export type ConnectionMessage = {
  /** As in {@link RunStartMessage}. */
  run: number;
  /** As in {@link RunStartMessage}. */
  runner: number;
  /** As in the audit. */
  policyHash: string;
  /** What became of it. */
  event: ConnectionEvent;
  /** As the audit has it, or, while it is open, as far as it has come. */
  connection: NetworkConnection;
};
