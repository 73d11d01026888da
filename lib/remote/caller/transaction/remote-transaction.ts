import type { RunnerMetrics } from "../../../../types/metrics.js";
import type {
  BubblewrapExplanation,
  NativeExecInput,
  NativeSpawnInput,
  SandboxedExecResult,
  SandboxProcess,
} from "../../../../types/public.js";
import type { BatchOptions, NativeSession, SessionOptions } from "../../../../types/session.js";
import type {
  Change,
  ChangesOptions,
  Checkpoint,
  CommitOptions,
  CommitReport,
  DiffOptions,
  Transaction,
  TransactionRun,
} from "../../../../types/transaction.js";
import { invalidState, SandboxError } from "../../../errors.js";
import { onAbort } from "../../../runners/abort.js";
import { deferred } from "../../deferred.js";
import { askWhole } from "../../wire/answers.js";
import { expectBegun, whyOver } from "../ends/why-over.js";
import { RemoteProcess } from "../live/remote-process.js";
import { remoteBatch } from "../remote-batch.js";
import type { RemotePlace } from "../remote-place.js";
import type { RemoteRun } from "../remote-run.js";
import { RemoteSession } from "../remote-session.js";
import { execInputOf } from "../request-of.js";
import { RemoteFiles } from "./remote-files.js";
import { remoteId } from "./transaction-id.js";

type Opened = Pick<Transaction, "id" | "backend" | "backendReason" | "recovered">;

/** How one is asked for; see `TransactionInput` of the worker. */
export type TransactionRequest = { input: object; onWorker?: string | undefined };

/**
 * A transaction on one worker, in that worker's state directory. It holds one of its slots while it is open; what runs
 * in it takes no further one. If this process ends, or is not heard of, the worker closes it, and never commits.
 */
export class RemoteTransaction implements Transaction {
  readonly id: string;
  readonly backend: Transaction["backend"];
  readonly backendReason: string | undefined;
  readonly recovered: Transaction["recovered"];
  readonly files = new RemoteFiles((operation, args) => this.#ask(operation, args));
  readonly #run: RemoteRun;
  readonly #outside: RemotePlace;
  readonly #place: RemotePlace;
  #isClosed = false;

  private constructor(place: RemotePlace, run: RemoteRun, opened: Opened) {
    this.id = remoteId(opened.id, run.worker ?? "");
    this.backend = opened.backend;
    this.backendReason = opened.backendReason;
    this.recovered = opened.recovered;
    this.#run = run;
    this.#outside = place;
    this.#place = place.inside(run);
  }

  /** @throws (rejects) as `openTransaction`. */
  static async open(
    place: RemotePlace,
    request: TransactionRequest,
    signal?: AbortSignal,
  ): Promise<RemoteTransaction> {
    const { promise: began, resolve } = deferred<Opened>();
    const listener = { out: () => {}, began: (value: unknown) => resolve(value as Opened) };
    const run = place.begin("transaction", request, listener);
    const unsubscribe = onAbort(signal, () => place.caller.abort(run));
    const opened = await Promise.race([began, run.end.then(() => undefined)]);
    unsubscribe();
    if (opened !== undefined && !run.isAborted) return new RemoteTransaction(place, run, opened);
    throw expectBegun(await run.end, "no transaction could be opened", run.isAborted);
  }

  async exec(input: NativeExecInput): Promise<SandboxedExecResult> {
    this.#expectOpen();
    return this.#place.exec(input);
  }

  async spawn(input: NativeSpawnInput): Promise<SandboxProcess> {
    this.#expectOpen();
    return RemoteProcess.spawn(this.#place, input);
  }

  async openSession(options: SessionOptions = {}): Promise<NativeSession> {
    this.#expectOpen();
    return RemoteSession.open(this.#place, options);
  }

  async execBatch(
    commands: readonly (NativeExecInput | string[])[],
    options: BatchOptions = {},
  ): Promise<SandboxedExecResult[]> {
    this.#expectOpen();
    return remoteBatch(this.#place, commands, options);
  }

  async explain(given: NativeExecInput): Promise<BubblewrapExplanation> {
    const { input } = execInputOf(given);
    return (await this.#ask("explain", [input])) as BubblewrapExplanation;
  }

  async warm(): Promise<number> {
    return (await this.#ask("warm")) as number;
  }

  /** @throws always: its worker has them, and tells its operator. */
  metrics(): RunnerMetrics {
    throw invalidState("metrics: the worker of a remote transaction has them");
  }

  async changes(options?: ChangesOptions): Promise<Change[]> {
    return (await this.#ask("changes", [options])) as Change[];
  }

  async runs(): Promise<TransactionRun[]> {
    return (await this.#ask("runs")) as TransactionRun[];
  }

  async diff(options?: DiffOptions): Promise<string> {
    return (await this.#ask("diff", [options])) as string;
  }

  async commit(options?: CommitOptions): Promise<CommitReport> {
    return (await this.#ask("commit", [options])) as CommitReport;
  }

  async undo(): Promise<void> {
    await this.#ask("undo");
  }

  async checkpoint(name?: string): Promise<Checkpoint> {
    return (await this.#ask("checkpoint", [name])) as Checkpoint;
  }

  async checkpoints(): Promise<Checkpoint[]> {
    return (await this.#ask("checkpoints")) as Checkpoint[];
  }

  async rollback(to: Checkpoint | string): Promise<void> {
    await this.#ask("rollback", [to]);
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#outside.caller.abort(this.#run);
    await this.#outside.caller.ended(this.#run);
  }

  async discard(): Promise<void> {
    const wasClosed = this.#isClosed;
    this.#isClosed = true;
    if (!wasClosed) await this.#asked("discard", []);
    await this.#outside.caller.ended(this.#run);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.discard();
  }

  async #ask(operation: string, args: readonly unknown[] = []): Promise<unknown> {
    this.#expectOpen();
    return this.#asked(operation, args);
  }

  async #asked(operation: string, args: readonly unknown[]): Promise<unknown> {
    const { caller } = this.#outside;
    try {
      return await askWhole((...asked) => caller.call(this.#run, ...asked), operation, args);
    } catch (error) {
      if ((error as { code?: unknown }).code !== "ERR_SANDBOX_CLOSED") throw error;
      throw this.#isOver(whyOver(await caller.ended(this.#run)));
    }
  }

  #expectOpen(): void {
    if (this.#isClosed) throw this.#isOver("it was closed");
  }

  #isOver(why: string): SandboxError {
    return new SandboxError(`the transaction ${this.id} has ended: ${why}`, {
      code: "ERR_SANDBOX_CLOSED",
      fix: "`resumeTransaction` takes it up again, unless it was discarded",
    });
  }
}
