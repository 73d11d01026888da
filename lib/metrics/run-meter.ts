import type { NativeContext, NativeRequest, NativeRun } from "../../types/addon.js";
import type { RunnerMetrics } from "../../types/metrics.js";
import type { PoolState, SandboxedAuditRecord, SandboxedExecResult } from "../../types/public.js";
import type { TransactionAudit } from "../../types/transaction.js";
import { type AuditSink, RunRecorder } from "../audit-log/sink.js";
import { Channels } from "./channels.js";
import { RunMetrics, TransactionCounts } from "./run-metrics.js";

/** Receives each run that has ended; must not throw. */
export type KeepRun = (audit: SandboxedAuditRecord, result: SandboxedExecResult) => void;

/**
 * Observes the runs of one runner and its sessions: counts them, and publishes them on the diagnostics channels. Holds
 * no reference to the runner or a session, so that a session that lives on does not keep a runner's pool.
 */
export class RunMeter {
  readonly #metrics = new RunMetrics();
  readonly #channels = new Channels();
  /** Counts of the runner's transactions. */
  readonly transactions = new TransactionCounts();
  /** The id of the transaction that contains all runs; undefined: none. */
  transaction: string | undefined;
  #recorder: RunRecorder | undefined;
  #keep: KeepRun | undefined;
  #onEnd: () => void = () => {};

  /** Counts a call of `exec`. */
  called(): void {
    this.#metrics.called();
  }

  /** Calls `onEnd` after each run from now on, including failed ones. It must not throw. */
  watch(onEnd: () => void): void {
    this.#onEnd = onEnd;
  }

  /** Also passes each run to its transaction from now on. */
  keepRuns(keep: KeepRun): void {
    this.#keep = keep;
  }

  /** Also records all events to `sink` from now on; undefined: stops. */
  recordTo(sink: AuditSink | undefined): void {
    this.#recorder = sink && new RunRecorder(sink);
  }

  /** Returns the callback for the context of a new run; undefined without subscribers. */
  onConnection(policyHash: string): NativeContext["onConnection"] {
    return this.#channels.onConnection(policyHash);
  }

  /** Returns the callback for a new run's requests; undefined without subscribers. */
  onRequest(policyHash: string): ReturnType<Channels["onRequest"]> {
    return this.#channels.onRequest(policyHash);
  }

  /** Settles as the run does, after counting it. */
  async follow(
    run: NativeRun,
    request: NativeRequest,
    policyHash: string,
  ): Promise<SandboxedExecResult> {
    this.#metrics.started();
    this.#channels.started(run, request, policyHash);
    try {
      const result = await run.done;
      if (this.transaction !== undefined) {
        for (const audit of result.audits) audit.transaction = this.transaction;
      }
      this.#metrics.ended(result);
      for (const audit of result.audits) {
        this.#recorder?.ran(audit, result.exitCode);
        this.#keep?.(audit, result);
      }
      this.#channels.ended(run, result, policyHash);
      return result;
    } catch (error) {
      this.#metrics.failed();
      this.#channels.failed(run, error, policyHash);
      throw error;
    } finally {
      this.#onEnd();
    }
  }

  /** Number of runs that were accepted and have not settled. */
  get pending(): number {
    return this.#metrics.pending;
  }

  /** Reports an action on the transaction. */
  transactionSettled(audit: TransactionAudit): void {
    this.#recorder?.transaction(audit);
    this.#channels.transaction(audit);
  }

  /** Records that a session was opened. */
  sessionOpened(policyHash: string): void {
    this.#recorder?.sessionOpened(policyHash);
  }

  /** Publishes the runner's pool if it has changed; `look` returns its current state. */
  poolChanged(look: () => PoolState): void {
    this.#channels.pool(look);
  }

  snapshot(pool: PoolState): RunnerMetrics {
    return this.#metrics.snapshot(pool, this.transactions.snapshot());
  }
}
