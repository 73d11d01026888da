/**
 * Publishes on the diagnostics channels. Messages are built only for channels with subscribers. A subscriber that
 * throws does not affect the run: Node raises its error as an uncaught exception (diagnostics_channel,
 * `channel.publish`).
 *
 * Never published: output, input, and the environment.
 */

import { AsyncResource } from "node:async_hooks";
import { type Channel, channel } from "node:diagnostics_channel";

import type { NativeContext, NativeRequest, NativeRun } from "../../types/addon.js";
import type {
  ConnectionMessage,
  PoolMessage,
  RequestMessage,
  RunEndMessage,
  RunStartMessage,
  TransactionMessage,
} from "../../types/metrics.js";
import type { HttpRequestRecord, PoolState, SandboxedExecResult } from "../../types/public.js";
import type { TransactionAudit } from "../../types/transaction.js";
import { fromNative } from "../errors.js";
import { bytesOf } from "./run-metrics.js";

const kPackage = "@openagentic/native-runner";
const kRunStart: Channel = channel(`${kPackage}:run.start`);
const kConnection: Channel = channel(`${kPackage}:connection`);
const kRequest: Channel = channel(`${kPackage}:request`);
const kRunEnd: Channel = channel(`${kPackage}:run.end`);
const kTransaction: Channel = channel(`${kPackage}:transaction`);
const kPool: Channel = channel(`${kPackage}:pool`);

/** State that is not published first: most runners have no pool. */
const kUnused = [0, 0, 0, 0].join();

/** Number of the last runner that has published; numbers are assigned on first use. */
let lastRunner = 0;

/** Publishes for one runner. */
export class Channels {
  #number = 0;
  #lastPool = kUnused;

  get #runner(): number {
    if (this.#number === 0) {
      lastRunner += 1;
      this.#number = lastRunner;
    }
    return this.#number;
  }

  started({ id }: NativeRun, { argv, cwd }: NativeRequest, policyHash: string): void {
    if (!kRunStart.hasSubscribers) return;
    const message: RunStartMessage = {
      run: id,
      runner: this.#runner,
      policyHash,
      argv: [...argv],
      cwd,
    };
    kRunStart.publish(message);
  }

  ended({ id }: NativeRun, result: SandboxedExecResult, policyHash: string): void {
    const [audit] = result.audits;
    if (!kRunEnd.hasSubscribers || audit === undefined) return;
    const bytes = bytesOf(result);
    const message: RunEndMessage = { run: id, runner: this.#runner, policyHash, audit, bytes };
    kRunEnd.publish(message);
  }

  /** Returns the function that the addon calls for each connection of a run; undefined without subscribers. */
  onConnection(policyHash: string): NativeContext["onConnection"] {
    if (!kConnection.hasSubscribers) return undefined;
    const publish: NonNullable<NativeContext["onConnection"]> = (run, event, connection) => {
      const runner = this.#runner;
      const message: ConnectionMessage = { run, runner, policyHash, event, connection };
      kConnection.publish(message);
    };
    return AsyncResource.bind(publish); // the addon calls outside of the run's async context
  }

  /** Returns the function for a run's requests; undefined without subscribers. */
  onRequest(policyHash: string): ((run: number, request: HttpRequestRecord) => void) | undefined {
    if (!kRequest.hasSubscribers) return undefined;
    return AsyncResource.bind((run: number, request: HttpRequestRecord) => {
      const message: RequestMessage = { run, runner: this.#runner, policyHash, request };
      kRequest.publish(message);
    });
  }

  failed({ id }: NativeRun, error: unknown, policyHash: string): void {
    if (!kRunEnd.hasSubscribers) return;
    const message: RunEndMessage = {
      run: id,
      runner: this.#runner,
      policyHash,
      error: fromNative(error),
    };
    kRunEnd.publish(message);
  }

  transaction(audit: TransactionAudit): void {
    if (!kTransaction.hasSubscribers) return;
    const message: TransactionMessage = { runner: this.#runner, audit };
    kTransaction.publish(message);
  }

  /** Publishes the pool if it has changed. `look` is called only if the channel has subscribers. */
  pool(look: () => PoolState): void {
    if (!kPool.hasSubscribers) return;
    const pool = look();
    const seen = Object.values(pool).join();
    if (seen === this.#lastPool) return;
    this.#lastPool = seen;
    const message: PoolMessage = { runner: this.#runner, pool };
    kPool.publish(message);
  }
}
