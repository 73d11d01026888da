import type { RunnerMetrics, TransactionMetrics } from "../../types/metrics.js";
import type { Outcome, PoolState, SandboxedExecResult } from "../../types/public.js";
import { bytesOf } from "./bytes.js";
import { NetworkCounts } from "./network-metrics.js";
import { PhaseTimes } from "./phase-times.js";

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

/** Adds up what a runner's runs were. */
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

  /** `exec` was called, whatever becomes of it. */
  called(): void {
    this.#calls += 1;
  }

  /** A run was accepted; `ended` or `failed` follows. */
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

  /** All of it until now, a copy; `pool` as the native side counts it. */
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
