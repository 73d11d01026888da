import type { NativeContext, NativeRequest, NativeRun } from "../../types/addon.js";
import type { RunnerMetrics } from "../../types/metrics.js";
import type { PoolState, SandboxedAuditRecord, SandboxedExecResult } from "../../types/public.js";
import type { TransactionAudit } from "../../types/transaction.js";
import { type AuditSink, RunRecorder } from "../audit-log/sink.js";
import { Channels } from "./channels.js";
import { RunMetrics, TransactionCounts } from "./run-metrics.js";

/** Takes what is known of a run that has ended; must not throw. */
export type KeepRun = (audit: SandboxedAuditRecord, exitCode: number) => void;

/**
 * Sees the runs of one runner and of its sessions: counts them, and tells of them on the diagnostics
 * channels. Refers to neither, so that a session that lives on does not keep a runner's pool.
 */
export class RunMeter {
  readonly #metrics = new RunMetrics();
  readonly #channels = new Channels();
  /** What became of the runner's transactions. */
  readonly transactions = new TransactionCounts();
  /** The id of the transaction that all runs are in; undefined: they are in none. */
  transaction: string | undefined;
  #recorder: RunRecorder | undefined;
  #keep: KeepRun | undefined;
  #onEnd: () => void = () => {};

  /** `exec` was called, whatever becomes of it. */
  called(): void {
    this.#metrics.called();
  }

  /** `onEnd` is called after each run from now on, whatever became of it. It must not throw. */
  watch(onEnd: () => void): void {
    this.#onEnd = onEnd;
  }

  /** Each run is told to its transaction from now on, too. */
  keepRuns(keep: KeepRun): void {
    this.#keep = keep;
  }

  /** All that is told from now on is recorded there too; undefined: nowhere. */
  recordTo(sink: AuditSink | undefined): void {
    this.#recorder = sink && new RunRecorder(sink);
  }

  /** For the context of a run that is about to begin; undefined: nobody listens. */
  onConnection(policyHash: string): NativeContext["onConnection"] {
    return this.#channels.onConnection(policyHash);
  }

  /** Settles as the run does, once it has been counted. */
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
        this.#keep?.(audit, result.exitCode);
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

  /** Runs that were accepted and have not settled. */
  get pending(): number {
    return this.#metrics.pending;
  }

  /** Something was done with the transaction. */
  transactionSettled(audit: TransactionAudit): void {
    this.#recorder?.transaction(audit);
    this.#channels.transaction(audit);
  }

  /** A session was opened. */
  sessionOpened(policyHash: string): void {
    this.#recorder?.sessionOpened(policyHash);
  }

  /** The runner's pool may have changed; `look` tells what it has and has done now. */
  poolChanged(look: () => PoolState): void {
    this.#channels.pool(look);
  }

  snapshot(pool: PoolState): RunnerMetrics {
    return this.#metrics.snapshot(pool, this.transactions.snapshot());
  }
}
