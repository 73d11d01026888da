import { createHistogram, type RecordableHistogram } from "node:perf_hooks";

import type {
  ConnectionMetrics,
  NetworkMetrics,
  PhaseMetrics,
  RunnerMetrics,
  StreamMetrics,
  TransactionMetrics,
} from "../../types/metrics.js";
import type {
  NetworkConnection,
  Outcome,
  PoolState,
  SandboxedAuditRecord,
  SandboxedExecResult,
} from "../../types/public.js";
import type { TransactionAudit } from "../../types/transaction.js";

const noOutcomes = (): Record<Outcome["kind"], number> => ({
  exited: 0,
  signaled: 0,
  "timed-out": 0,
  aborted: 0,
  "not-found": 0,
  "not-executable": 0,
  "setup-failed": 0,
  "limit-exceeded": 0,
  "lease-expired": 0,
  lost: 0,
  "queue-timeout": 0,
});

/** Accumulates metrics of a runner's runs. */
export class RunMetrics {
  #calls = 0;
  #pending = 0;
  #settled = 0;
  #prewarmed = 0;
  #cloned = 0;
  readonly #outcomes = noOutcomes();
  readonly #phases = {
    queue: new PhaseTimes(),
    setup: new PhaseTimes(),
    command: new PhaseTimes(),
    teardown: new PhaseTimes(),
    total: new PhaseTimes(),
  };
  readonly #bytes = { stdout: { kept: 0, dropped: 0 }, stderr: { kept: 0, dropped: 0 } };
  readonly #network = new NetworkCounts();
  readonly #kills = { requested: 0, proved: 0 };

  /** Counts a call of `exec`. */
  called(): void {
    this.#calls += 1;
  }

  /** Counts an accepted run; `ended` or `failed` follows. */
  started(): void {
    this.#pending += 1;
  }

  failed(): void {
    this.#pending -= 1;
  }

  ended(result: SandboxedExecResult): void {
    this.#pending -= 1;
    this.#settled += 1;
    this.#outcomes[result.outcome.kind] += 1;
    const { stdout, stderr } = bytesOf(result);
    this.#bytes.stdout.kept += stdout.kept;
    this.#bytes.stdout.dropped += stdout.dropped;
    this.#bytes.stderr.kept += stderr.kept;
    this.#bytes.stderr.dropped += stderr.dropped;
    const [audit] = result.audits;
    if (audit === undefined) return;
    const { queueMs, setupMs, commandMs, teardownMs } = audit.timing;
    this.#phases.queue.record(queueMs);
    this.#phases.setup.record(setupMs);
    this.#phases.command.record(commandMs);
    this.#phases.teardown.record(teardownMs);
    this.#phases.total.record(queueMs + setupMs + commandMs + teardownMs);
    this.#network.ended(audit);
    if (audit.start === "prewarmed") this.#prewarmed += 1;
    if (audit.start === "cloned") this.#cloned += 1;
    if (audit.kill !== null) this.#kills.requested += 1;
    if (audit.kill === "proved") this.#kills.proved += 1;
  }

  /** See `RunnerMetrics`. */
  get pending(): number {
    return this.#pending;
  }

  /** Returns a copy of all metrics; `pool` is the native side's count. */
  snapshot(pool: PoolState, transactions: TransactionMetrics): RunnerMetrics {
    const { queue, setup, command, teardown, total } = this.#phases;
    return {
      runs: {
        pending: this.#pending,
        rejected: this.#calls - this.#pending - this.#settled,
        prewarmed: this.#prewarmed,
        cloned: this.#cloned,
        outcomes: { ...this.#outcomes },
      },
      phases: {
        queue: queue.summary(),
        setup: setup.summary(),
        command: command.summary(),
        teardown: teardown.summary(),
        total: total.summary(),
      },
      pool,
      bytes: { stdout: { ...this.#bytes.stdout }, stderr: { ...this.#bytes.stderr } },
      kills: { ...this.#kills },
      transactions,
      network: this.#network.snapshot(),
    };
  }
}

const kMicrosecondsPerMs = 1000;
const kDayUs = 24 * 3600 * 1e6;

/** Number of times stored without a histogram: most runners have few runs, and no reader of metrics. */
const kFew = 32;

/**
 * Durations of one phase of the runs. Mean and maximum are exact; percentiles come from a histogram of about 30 KiB,
 * which is made after many times, or for the first summary.
 */
export class PhaseTimes {
  #recentUs: number[] = [];
  #histogram: RecordableHistogram | undefined;
  #count = 0;
  #sumUs = 0;
  #maxUs = 0;

  /** Records a run's time in this phase; 0 means that the run did not reach it, and is not counted. */
  record(ms: number): void {
    if (ms === 0) return;
    const us = Math.max(1, Math.round(ms * kMicrosecondsPerMs));
    this.#count += 1;
    this.#sumUs += us;
    if (us > this.#maxUs) this.#maxUs = us;
    if (this.#recentUs.push(Math.min(us, kDayUs)) >= kFew) this.#fold();
  }

  summary(): PhaseMetrics {
    const { count, maxUs } = { count: this.#count, maxUs: this.#maxUs };
    if (count === 0) return { count, meanMs: 0, maxMs: 0, p50Ms: 0, p95Ms: 0, p99Ms: 0 };
    const histogram = this.#fold();
    // The end of a bucket may exceed the maximum.
    const percentile = (rank: number) =>
      Math.min(histogram.percentile(rank), maxUs) / kMicrosecondsPerMs;
    return {
      count,
      meanMs: this.#sumUs / count / kMicrosecondsPerMs,
      maxMs: maxUs / kMicrosecondsPerMs,
      p50Ms: percentile(50),
      p95Ms: percentile(95),
      p99Ms: percentile(99),
    };
  }

  #fold(): RecordableHistogram {
    this.#histogram ??= createHistogram({ lowest: 1, highest: kDayUs, figures: 2 });
    for (const us of this.#recentUs) this.#histogram.record(us);
    this.#recentUs = [];
    return this.#histogram;
  }
}

/** Most rules that `byRule` lists; further ones are added up as "other". */
export const kMostRules = 100;
const kOther = "other";

const nothing = (): ConnectionMetrics => ({ connections: 0, bytesOut: 0, bytesIn: 0 });

/**
 * Counts the connections of a runner's commands. They are grouped by the rule that allowed them, since commands choose
 * host names freely and must not make this map grow.
 */
export class NetworkCounts {
  #allowed = 0;
  #denied = 0;
  #omitted = 0;
  readonly #byRule = new Map<string, ConnectionMetrics>();
  readonly #requests: NetworkMetrics["requests"] = { allowed: 0, refused: 0, misused: 0 };
  readonly #forwards: NetworkMetrics["forwards"] = {
    connections: 0,
    refused: 0,
    failed: 0,
    bytesOut: 0,
    bytesIn: 0,
  };

  ended({
    connections,
    connectionsOmitted = 0,
    requests = [],
    denials = [],
    forwards = [],
  }: SandboxedAuditRecord): void {
    const counts = Object.keys(this.#forwards) as (keyof NetworkMetrics["forwards"])[];
    for (const forward of forwards) for (const key of counts) this.#forwards[key] += forward[key];
    this.#omitted += connectionsOmitted;
    for (const { verdict } of requests) this.#requests[verdict] += 1;
    for (const { kind, count } of denials) if (kind === "secret") this.#requests.misused += count;
    for (const connection of connections ?? []) this.#add(connection);
  }

  #add({ verdict, rule = kOther, bytesOut, bytesIn, count }: NetworkConnection): void {
    if (verdict === "denied") {
      this.#denied += count;
      return;
    }
    this.#allowed += count;
    const label = this.#byRule.has(rule) || this.#byRule.size < kMostRules ? rule : kOther;
    const counted = this.#byRule.get(label) ?? nothing();
    counted.connections += count;
    counted.bytesOut += bytesOut;
    counted.bytesIn += bytesIn;
    this.#byRule.set(label, counted);
  }

  snapshot(): NetworkMetrics {
    const byRule = [...this.#byRule].map(([rule, counted]) => [rule, { ...counted }]);
    return {
      allowed: this.#allowed,
      denied: this.#denied,
      omitted: this.#omitted,
      byRule: Object.fromEntries(byRule),
      requests: { ...this.#requests },
      forwards: { ...this.#forwards },
    };
  }
}

const kDone = {
  commit: "commits",
  undo: "undos",
  checkpoint: "checkpoints",
  rollback: "rollbacks",
  discard: "discards",
  fork: "forks",
  merge: "merges",
  adopt: "adoptions",
} as const satisfies Record<TransactionAudit["action"], keyof TransactionMetrics>;

/** Counts the actions of transactions. */
export class TransactionCounts {
  readonly #counts: TransactionMetrics = {
    open: 0,
    opened: 0,
    forks: 0,
    merges: 0,
    adoptions: 0,
    commits: 0,
    undos: 0,
    checkpoints: 0,
    rollbacks: 0,
    discards: 0,
    conflicts: 0,
    protected: 0,
    unexpected: 0,
    failed: 0,
    paths: 0,
    bytes: 0,
  };

  /** Counts a transaction that was opened or resumed; `closed` follows. */
  opened(): void {
    this.#counts.open += 1;
    this.#counts.opened += 1;
  }

  closed(): void {
    this.#counts.open -= 1;
  }

  /** @param written the paths and bytes that a commit has written */
  settled({ action, outcome }: TransactionAudit, written: { paths: number; bytes: number }): void {
    const counts = this.#counts;
    if (outcome === "done") counts[kDone[action]] += 1;
    else counts[outcome === "conflict" ? "conflicts" : outcome] += 1;
    counts.paths += written.paths;
    counts.bytes += written.bytes;
  }

  /** Returns a copy of all counts. */
  snapshot(): TransactionMetrics {
    return { ...this.#counts };
  }
}

function ofStream(kept: number, written: number): StreamMetrics {
  return { kept, dropped: written - kept };
}

/** Returns the kept and the dropped bytes of a run's output. */
export function bytesOf(result: SandboxedExecResult): RunnerMetrics["bytes"] {
  return {
    stdout: ofStream(result.stdout.length, result.stdoutBytes),
    stderr: ofStream(result.stderr.length, result.stderrBytes),
  };
}
