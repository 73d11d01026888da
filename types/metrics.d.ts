/**
 * The public types of `runner.metrics()` and of messages on the diagnostics channels. This file holds no
 * code.
 */

import type {
  HttpRequestRecord,
  NetworkConnection,
  Outcome,
  PoolState,
  SandboxedAuditRecord,
} from "./public.js";
import type { TransactionAudit } from "./transaction.js";

/** Durations of one phase of the runs, in milliseconds. All 0 if no run reached it. */
export type PhaseMetrics = {
  /** Number of runs that reached the phase. */
  count: number;
  /** Mean duration. */
  meanMs: number;
  /** Longest duration. */
  maxMs: number;
  /** 50th percentile, accurate to within 1 %; at most one day. */
  p50Ms: number;
  /** 95th percentile, like `p50Ms`. */
  p95Ms: number;
  /** 99th percentile, like `p50Ms`. */
  p99Ms: number;
};

/** Bytes that commands wrote to one stream. */
export type StreamMetrics = {
  /** Bytes returned in a result. */
  kept: number;
  /** Bytes over the limit, which were read, counted and dropped. */
  dropped: number;
};

/**
 * Actions on a runner's transactions, or on the transaction whose metrics these are. All 0 without
 * transactions.
 */
export type TransactionMetrics = {
  /** Transactions that were opened and neither closed nor discarded since. */
  open: number;
  /** Calls of `openTransaction` and `resumeTransaction` that succeeded. */
  opened: number;
  /** Completed calls of `fork`. */
  forks: number;
  /** Completed merges, including empty ones. */
  merges: number;
  /** Completed adoptions. */
  adoptions: number;
  /** Completed commits, including empty ones. */
  commits: number;
  /** Completed undos. */
  undos: number;
  /** Checkpoints that were created. */
  checkpoints: number;
  /** Completed rollbacks. */
  rollbacks: number;
  /** Transactions that were discarded. */
  discards: number;
  /** Commits and undos that were refused because the host had changed the same files. */
  conflicts: number;
  /** Commits that were refused because of protected paths. */
  protected: number;
  /** Commits that were refused because a change differed from what was expected. */
  unexpected: number;
  /** Calls that rejected for another reason, except misuse. */
  failed: number;
  /** Paths that commits wrote or removed. */
  paths: number;
  /** Bytes of the regular files among them, at their current size. */
  bytes: number;
};

/** Connections grouped by a common property. */
export type ConnectionMetrics = {
  /** Number of connections. */
  connections: number;
  /** Bytes that commands sent over them. */
  bytesOut: number;
  /** Bytes that commands received over them. */
  bytesIn: number;
};

/** Connections of a runner's commands. All but `forwards` are 0 without a network by domain. */
export type NetworkMetrics = {
  /** Connections that were allowed, including those that then failed. */
  allowed: number;
  /** Connections that were refused. */
  denied: number;
  /** Connections that were omitted from audit records for lack of space. */
  omitted: number;
  /**
   * The allowed connections by the rule that allowed them, or "onRequest" for answers. With more than 100
   * rules, those that occur later are counted as "other". Rules come from the host; commands can choose only
   * host names.
   */
  byRule: Record<string, ConnectionMetrics>;
  /** Requests to hosts with secrets or rules: passed on, refused, and of these with a misused placeholder. */
  requests: Record<"allowed" | "refused" | "misused", number>;
  /** Connections of the host's clients over forwards, with any network; as audit records have them. */
  forwards: Record<"connections" | "refused" | "failed" | "bytesOut" | "bytesIn", number>;
};

/** Activity of a runner since it was created. Survives `JSON.stringify`. */
export type RunnerMetrics = {
  /** Calls of `exec`, `spawn` and those of the runner's sessions, by result. */
  runs: {
    /** Accepted and not yet settled: queued or running. */
    pending: number;
    /** Calls of `exec` without an outcome: misuse, or no sandbox is possible on this host. */
    rejected: number;
    /** Runs in a prewarmed sandbox. */
    prewarmed: number;
    /** Runs in a sandbox that was cloned from a template for them. */
    cloned: number;
    /** Settled runs by `outcome.kind`; every kind is present. */
    outcomes: Record<Outcome["kind"], number>;
  };
  /** See `RunTiming`; `total` is the sum of the four. */
  phases: Record<"queue" | "setup" | "command" | "teardown" | "total", PhaseMetrics>;
  /**
   * Use of prewarmed sandboxes: hits are `taken`, misses `missed`. All 0 for runners without prewarmed
   * sandboxes.
   */
  pool: PoolState;
  /** Bytes that commands wrote. */
  bytes: Record<"stdout" | "stderr", StreamMetrics>;
  /** Runs whose processes did not all end by themselves. */
  kills: {
    /** Runs in which processes had to be killed: deadline, lease, abort, or left behind by the command. */
    requested: number;
    /** Those of `requested` whose processes are all known to be gone. */
    proved: number;
  };
  /** Actions on transactions. */
  transactions: TransactionMetrics;
  /** Connections of commands. */
  network: NetworkMetrics;
};

/** Published on `@openagentic/native-runner:run.start`, in the caller's async context. */
export type RunStartMessage = {
  /** Number of the run, unique in its Node environment. */
  run: number;
  /** Number of the runner, unique in its Node environment. */
  runner: number;
  /** As in the audit record. */
  policyHash: string;
  /** A copy. May contain secrets, if the host puts them on command lines. */
  argv: string[];
  /** As the caller passed it. */
  cwd: string | undefined;
};

/**
 * Published on `@openagentic/native-runner:run.end`, once for each start, before `exec` settles: with the
 * audit record of a run that has an outcome, or with the error of a run that has none.
 */
export type RunEndMessage = {
  /** See {@link RunStartMessage}. */
  run: number;
  /** See {@link RunStartMessage}. */
  runner: number;
  /** As in the audit record. */
  policyHash: string;
} & (
  | {
      /** The result's own record, not a copy: must not be changed. */
      audit: SandboxedAuditRecord;
      /** Bytes that the command wrote. */
      bytes: RunnerMetrics["bytes"];
      /** Absent: the run has an outcome. */
      error?: undefined;
    }
  | {
      /** Absent: the run has no outcome. */
      audit?: undefined;
      /** Absent: not known. */
      bytes?: undefined;
      /** The error that the call rejects with. */
      error: unknown;
    }
);

/**
 * Published on `@openagentic/native-runner:pool` after a run, `warm()` and `close()`, if the pool has changed
 * since it was last published. Changes in between, such as the removal of an idle pool, appear in the next
 * message.
 */
export type PoolMessage = {
  /** Number of the runner, unique in its Node environment. */
  runner: number;
  /** State of the runner's prewarmed sandboxes. */
  pool: PoolState;
};

/**
 * Published on `@openagentic/native-runner:transaction` when a commit, an undo, a checkpoint, a rollback or a
 * discard has settled, before its call does. Misuse is not published.
 */
export type TransactionMessage = {
  /** Number of the transaction as a runner, as in messages of its runs; unique in its Node environment. */
  runner: number;
  /** The record; for a commit, the report's own, not a copy: must not be changed. */
  audit: TransactionAudit;
};

/** "refused" covers every request without a connection, including allowed connections that failed. */
export type ConnectionEvent = "opened" | "refused" | "ended";

/**
 * Published on `@openagentic/native-runner:connection` when a connection opens, is refused or ends, while the
 * command runs; only for runs that began while the channel had a subscriber. Published once for denials that
 * share one entry of the audit record's `connections`, and never for omitted connections; before `run.end`.
 */
export type ConnectionMessage = {
  /** See {@link RunStartMessage}. */
  run: number;
  /** See {@link RunStartMessage}. */
  runner: number;
  /** As in the audit record. */
  policyHash: string;
  /** The event of the connection. */
  event: ConnectionEvent;
  /** As in the audit record; for an open connection, its current state. */
  connection: NetworkConnection;
};

/**
 * Published on `@openagentic/native-runner:request` for each request to a host with secrets or rules, when it is
 * answered or refused, while the command runs. Never has a secret's value.
 */
export type RequestMessage = {
  /** See {@link RunStartMessage}. */
  run: number;
  /** See {@link RunStartMessage}. */
  runner: number;
  /** As in the audit record. */
  policyHash: string;
  /** As in the audit record. */
  request: HttpRequestRecord;
};
