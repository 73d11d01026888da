/** Opens, resumes and lists transactions on workers. */

import type {
  WorkspaceEntry,
  WorkspaceFiles,
  WorkspaceListOptions,
  WorkspaceMkdirOptions,
  WorkspacePath,
  WorkspaceReadOptions,
  WorkspaceReadTextOptions,
  WorkspaceRemoveOptions,
  WorkspaceStat,
  WorkspaceWriteOptions,
} from "../../../types/files.js";
import type { RunnerMetrics } from "../../../types/metrics.js";
import type {
  BubblewrapExplanation,
  NativeSpawnInput,
  RunnerExecInput,
  SandboxedExecResult,
  SandboxProcess,
} from "../../../types/public.js";
import type { BatchOptions, NativeSession, SessionOptions } from "../../../types/session.js";
import type {
  Change,
  ChangesOptions,
  Checkpoint,
  CommitOptions,
  CommitReport,
  DiffOptions,
  ForkOptions,
  MergeOptions,
  MergeReport,
  Transaction,
  TransactionRun,
} from "../../../types/transaction.js";
import type {
  ListedTransaction,
  ListTransactionsOptions,
  ResumeOptions,
  TransactionOptions,
} from "../../../types/transaction-options.js";
import { invalidState, invalidType, invalidValue, SandboxError } from "../../errors.js";
import { expectFields, type FieldsOf } from "../../fields.js";
import { checkSignal, onAbort } from "../../runners/abort.js";
import { forkOptions, mergeOptions } from "../../runners/transactions/branches.js";
import { comparedWith } from "../../runners/transactions/changes.js";
import { isMember, registerElsewhere } from "../../runners/transactions/membership.js";
import { deferred } from "../deferred.js";
import { isToken } from "../subjects.js";
import { type Ask, askWhole } from "../wire/channel.js";
import { toPlain } from "../wire/plain.js";
import {
  type OpenedTransaction,
  readForks,
  readMergeReport,
  readOpened,
  type TransactionRequest,
} from "../wire/transactions.js";
import { kLongestTimerMs } from "./deadline.js";
import { nameOfWorker } from "./dispatcher.js";
import type { RemotePlace } from "./remote-place.js";
import { RemoteProcess } from "./remote-process.js";
import { expectBegun, type RemoteRun, type RunRequest, whyOver } from "./remote-run.js";
import { RemoteSession, remoteBatch } from "./remote-session.js";
import { execInputOf } from "./request-of.js";

const kResume: FieldsOf<ResumeOptions> = { directory: true, backend: true };
const kOpen: FieldsOf<TransactionOptions> = {
  ...kResume,
  maxBytes: true,
  onProgress: true,
  signal: true,
};

function refuse(options: { directory?: unknown; onProgress?: unknown }): void {
  if (options.directory !== undefined) {
    throw invalidValue("`directory` is the worker's own, and can't be given from elsewhere");
  }
  if (options.onProgress === undefined) return;
  throw invalidValue("`onProgress` can't be called by a worker");
}

/** See `RemoteNativeRunner.openTransaction`. */
export async function openTransaction(
  place: RemotePlace,
  options: TransactionOptions,
): Promise<Transaction> {
  expectFields(options, "options", kOpen);
  refuse(options);
  const { backend, maxBytes } = options;
  const signal = checkSignal(options.signal);
  signal?.throwIfAborted();
  const input: TransactionRequest = {
    way: "open",
    options: toPlain({ backend, maxBytes }, "options") as Record<string, unknown>,
  };
  const abort = new AbortController();
  const unsubscribe = onAbort(signal, () => abort.abort());
  try {
    return await RemoteTransaction.open(place, input, undefined, abort.signal);
  } catch (error) {
    signal?.throwIfAborted();
    throw error;
  } finally {
    unsubscribe();
  }
}

/** See `RemoteNativeRunner.resumeTransaction`. */
export async function resumeTransaction(
  place: RemotePlace,
  given: string,
  options: ResumeOptions,
): Promise<Transaction> {
  expectFields(options, "options", kResume);
  refuse(options);
  const { id, name } = parseRemoteId(given);
  const { backend } = options;
  const own = toPlain({ backend }, "options") as Record<string, unknown>;
  return RemoteTransaction.open(place, { way: "resume", id, options: own }, name);
}

const kListOptions: FieldsOf<Pick<ListTransactionsOptions, "sizes">> = { sizes: true };

/** See `RemoteNativeRunner.transactions`. */
export async function listTransactions(
  place: RemotePlace,
  options: Pick<ListTransactionsOptions, "sizes">,
): Promise<ListedTransaction[]> {
  expectFields(options, "options", kListOptions);
  const { sizes = false } = options;
  if (typeof sizes !== "boolean") throw invalidType("sizes", "a boolean", sizes);
  const input = { way: "list", ...(sizes && { sizes }) };
  const { value, worker } = await place.answer("transaction", { input });
  const listed = value as ListedTransaction[];
  return listed.map(({ id, parent, ...each }) => ({
    ...each,
    id: remoteId(id, worker),
    ...(parent !== undefined && { parent: remoteId(parent, worker) }),
  }));
}

/**
 * A transaction on one worker, in that worker's state directory. It holds one slot of the worker while it is open;
 * commands inside it take no further slot. If this process ends or its connection is lost, the worker closes the
 * transaction and never commits it.
 */
class RemoteTransaction implements Transaction {
  readonly id: string;
  readonly backend: Transaction["backend"];
  readonly backendReason: string | undefined;
  readonly recovered: Transaction["recovered"];
  readonly parent: string | undefined;
  readonly files = new RemoteFiles((operation, args) => this.#ask(operation, args));
  readonly #run: RemoteRun;
  readonly #outside: RemotePlace;
  readonly #place: RemotePlace;
  #isClosed = false;

  private constructor(place: RemotePlace, run: RemoteRun, opened: OpenedTransaction) {
    this.id = remoteId(opened.id, run.worker ?? "");
    this.backend = opened.backend;
    this.backendReason = opened.backendReason;
    this.recovered = opened.recovered;
    const { parent } = opened;
    this.parent = parent === undefined ? undefined : remoteId(parent, run.worker ?? "");
    this.#run = run;
    this.#outside = place;
    this.#place = place.inside(run);
    registerElsewhere(this, `on the worker ${this.#worker}`);
  }

  /**
   * @param onWorker name of the only worker that has it; undefined: any
   * @throws (rejects) as `openTransaction`.
   */
  static async open(
    place: RemotePlace,
    input: TransactionRequest,
    onWorker?: string,
    signal?: AbortSignal,
  ): Promise<RemoteTransaction> {
    const { run, began } = beginRun(place, { input, onWorker });
    const unsubscribe = onAbort(signal, () => place.caller.abort(run));
    const opened = await Promise.race([began, run.end.then(() => undefined)]);
    unsubscribe();
    if (opened === undefined || run.isAborted) {
      throw expectBegun(await run.end, "no transaction could be opened", run.isAborted);
    }
    try {
      return new RemoteTransaction(place, run, readOpened(opened.value));
    } catch (error) {
      place.caller.abort(run);
      throw error;
    }
  }

  async exec(input: RunnerExecInput): Promise<SandboxedExecResult> {
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
    commands: readonly (RunnerExecInput | string[])[],
    options: BatchOptions = {},
  ): Promise<SandboxedExecResult[]> {
    this.#expectOpen();
    return remoteBatch(this.#place, commands, options);
  }

  async explain(given: RunnerExecInput): Promise<BubblewrapExplanation> {
    const { input } = execInputOf(given);
    return (await this.#ask("explain", [input])) as BubblewrapExplanation;
  }

  async warm(): Promise<number> {
    return (await this.#ask("warm")) as number;
  }

  /** @throws always: only the worker has metrics, for its operator */
  metrics(): RunnerMetrics {
    throw invalidState("metrics: the worker of a remote transaction has them");
  }

  async changes(options?: ChangesOptions): Promise<Change[]> {
    return (await this.#compared("changes", options)) as Change[];
  }

  async runs(): Promise<TransactionRun[]> {
    return (await this.#ask("runs")) as TransactionRun[];
  }

  async diff(options?: DiffOptions): Promise<string> {
    return (await this.#compared("diff", options)) as string;
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

  fork(options?: ForkOptions & { count?: undefined }): Promise<Transaction>;
  fork(options: ForkOptions & { count: number }): Promise<Transaction[]>;
  async fork(options: ForkOptions = {}): Promise<Transaction | Transaction[]> {
    const { count, quiesce = false } = forkOptions(options);
    this.#expectOpen();
    const forks = await this.#fork(count ?? 1, quiesce);
    return count === undefined ? (forks[0] as Transaction) : forks;
  }

  /** All of them, or none: first each has a slot, then the worker forks for all at once. */
  async #fork(count: number, quiesce: boolean): Promise<Transaction[]> {
    const place = this.#outside;
    await this.#asked("expectForks", [count]);
    const input: TransactionRequest = { way: "fork", of: this.#run.number };
    const how = { input, onWorker: nameOfWorker(this.#worker), beside: this.#run };
    const begun = Array.from({ length: count }, () => beginRun(place, how));
    const runs = begun.map(({ run }) => run);
    try {
      const all = Promise.all(begun.map(expectHeld));
      const over = this.#run.end.then((end) => {
        throw this.#isOver(whyOver(end));
      });
      await Promise.race([all, over]);
      const numbers = runs.map(({ number }) => number);
      const ms = quiesce ? kLongestTimerMs : undefined; // as long as commands run
      const forks = readForks(await this.#asked("fork", [numbers, quiesce], ms), count);
      return forks.map((fork, at) => new RemoteTransaction(place, runs[at] as RemoteRun, fork));
    } catch (error) {
      await Promise.all(runs.map((run) => giveBack(place, run)));
      throw error;
    }
  }

  async merge(from: Transaction, options: MergeOptions = {}): Promise<MergeReport> {
    const { paths, onConflict } = mergeOptions(options);
    const how = { paths, onConflict };
    return readMergeReport(await this.#askWith("merge", from, "from", (run) => [run, how]));
  }

  async adopt(from: Transaction): Promise<MergeReport> {
    return readMergeReport(await this.#askWith("adopt", from, "from", (run) => [run]));
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

  async #compared(
    operation: string,
    options: ChangesOptions | DiffOptions | undefined,
  ): Promise<unknown> {
    const { since, sinceFork, ...rest } = options ?? {};
    const compared = comparedWith({ since, sinceFork });
    if (compared === undefined) return this.#ask(operation, [options]);
    const { field, other } = compared;
    return this.#askWith(operation, other, field, (run) => [{ ...rest, [field]: run }]);
  }

  async #ask(operation: string, args: readonly unknown[] = []): Promise<unknown> {
    this.#expectOpen();
    return this.#asked(operation, args);
  }

  async #asked(operation: string, args: readonly unknown[], ms?: number): Promise<unknown> {
    const { caller } = this.#outside;
    try {
      return await askWhole((...asked) => caller.call(this.#run, ...asked, ms), operation, args);
    } catch (error) {
      if ((error as { code?: unknown }).code !== "ERR_SANDBOX_CLOSED") throw error;
      throw this.#isOver(whyOver(await caller.ended(this.#run)));
    }
  }

  /** Calls an operation that another transaction takes part in; `args` are made of its run. */
  async #askWith(
    operation: string,
    other: Transaction,
    field: string,
    args: (run: number) => unknown[],
  ): Promise<unknown> {
    const its = this.#expectBeside(other, field);
    const answer = await this.#ask(operation, args(its.#run.number));
    const isEnded = typeof answer === "object" && answer !== null && "otherEnded" in answer;
    if (isEnded) throw its.#isOver(whyOver(await its.#outside.caller.ended(its.#run)));
    return answer;
  }

  /** @throws TypeError unless the other transaction is on the same worker; SandboxError if it was closed */
  #expectBeside(other: unknown, field: string): RemoteTransaction {
    const wrong = (got: string) =>
      invalidValue(
        `Expected \`${field}\` to be a transaction on the worker ${this.#worker}, got one ${got}`,
      );
    if (!(other instanceof RemoteTransaction)) {
      if (isMember(other)) throw wrong("of this machine");
      throw invalidType(field, "a transaction", other);
    }
    if (other.#worker !== this.#worker) throw wrong(`on the worker ${other.#worker}`);
    if (other.#outside.caller !== this.#outside.caller) {
      throw wrong("that was opened with other credentials or for another tenant");
    }
    other.#expectOpen();
    return other;
  }

  /** The worker's name and the number of its process. */
  get #worker(): string {
    return this.#run.worker ?? "";
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

type BegunRun = { run: RemoteRun; began: Promise<{ value: unknown }> };

/** Requests a run for a transaction; `began` resolves when its worker has opened it, or holds its slot. */
function beginRun(
  place: RemotePlace,
  request: { input: TransactionRequest } & Pick<RunRequest, "onWorker" | "beside">,
): BegunRun {
  const { promise: began, resolve } = deferred<{ value: unknown }>();
  const listener = { out: () => {}, began: (value: unknown) => resolve({ value }) };
  return { run: place.begin("transaction", request, listener), began };
}

/** @throws (rejects) the reason, if the run has ended without a slot */
async function expectHeld({ run, began }: BegunRun): Promise<void> {
  const isHeld = await Promise.race([began.then(() => true), run.end.then(() => false)]);
  if (isHeld && !run.isAborted) return;
  throw expectBegun(await run.end, "the transaction could not be forked", run.isAborted);
}

/** Ends the run of a fork that nobody will have; what its worker has made of it meanwhile is discarded. */
async function giveBack({ caller }: RemotePlace, run: RemoteRun): Promise<void> {
  if (run.hasBegun) await caller.call(run, "discard", []).catch(() => {});
  caller.abort(run);
  await caller.ended(run);
}

/** Files of a transaction on a worker. Each call is checked and done there. */
class RemoteFiles implements WorkspaceFiles {
  readonly #ask: Ask;

  constructor(ask: Ask) {
    this.#ask = ask;
  }

  async read(path: WorkspacePath, options?: WorkspaceReadOptions): Promise<Uint8Array> {
    return (await this.#ask("files.read", [path, options])) as Uint8Array;
  }

  async readText(path: WorkspacePath, options?: WorkspaceReadTextOptions): Promise<string> {
    return (await this.#ask("files.readText", [path, options])) as string;
  }

  async write(
    path: WorkspacePath,
    data: Uint8Array | string,
    options?: WorkspaceWriteOptions,
  ): Promise<WorkspaceStat> {
    return (await this.#ask("files.write", [path, data, options])) as WorkspaceStat;
  }

  async list(path: WorkspacePath, options?: WorkspaceListOptions): Promise<WorkspaceEntry[]> {
    return (await this.#ask("files.list", [path, options])) as WorkspaceEntry[];
  }

  async stat(path: WorkspacePath): Promise<WorkspaceStat> {
    return (await this.#ask("files.stat", [path])) as WorkspaceStat;
  }

  async mkdir(path: WorkspacePath, options?: WorkspaceMkdirOptions): Promise<void> {
    await this.#ask("files.mkdir", [path, options]);
  }

  async rename(from: WorkspacePath, to: WorkspacePath): Promise<void> {
    await this.#ask("files.rename", [from, to]);
  }

  async remove(path: WorkspacePath, options?: WorkspaceRemoveOptions): Promise<void> {
    await this.#ask("files.remove", [path, options]);
  }
}

/** Names of remote transactions: the id on the worker, and the name of that worker. Pure. */

const kId = /^[0-9a-f]{12}$/;

const remoteId = (id: string, worker: string) => `${id}@${nameOfWorker(worker)}`;

/** @throws TypeError for a malformed id */
function parseRemoteId(given: unknown): { id: string; name: string } {
  if (typeof given !== "string") throw invalidType("id", "a string", given);
  const at = given.indexOf("@");
  const id = given.slice(0, Math.max(at, 0));
  const name = given.slice(at + 1);
  if (kId.test(id) && isToken(name)) return { id, name };
  const shown = JSON.stringify(given.slice(0, 100));
  throw invalidValue(
    `Expected \`id\` to be that of a remote transaction, "ID@WORKER", got ${shown}`,
  );
}
