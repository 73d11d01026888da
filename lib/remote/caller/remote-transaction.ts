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
  Transaction,
  TransactionRun,
} from "../../../types/transaction.js";
import type {
  ListedTransaction,
  ResumeOptions,
  TransactionOptions,
} from "../../../types/transaction-options.js";
import { invalidState, invalidType, invalidValue, SandboxError } from "../../errors.js";
import { expectFields, type FieldsOf } from "../../fields.js";
import { checkSignal, onAbort } from "../../runners/abort.js";
import { deferred } from "../deferred.js";
import { isToken } from "../subjects.js";
import { type Ask, askWhole } from "../wire/channel.js";
import { toPlain } from "../wire/plain.js";
import { nameOfWorker } from "./dispatcher.js";
import type { RemotePlace } from "./remote-place.js";
import { RemoteProcess } from "./remote-process.js";
import { expectBegun, type RemoteRun, whyOver } from "./remote-run.js";
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
  const input = { way: "open", options: toPlain({ backend, maxBytes }, "options") };
  const abort = new AbortController();
  const unsubscribe = onAbort(signal, () => abort.abort());
  try {
    return await RemoteTransaction.open(place, { input }, abort.signal);
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
  const input = { way: "resume", id, options: toPlain({ backend }, "options") };
  return RemoteTransaction.open(place, { input, onWorker: name });
}

/** See `RemoteNativeRunner.transactions`. */
export async function listTransactions(place: RemotePlace): Promise<ListedTransaction[]> {
  const { value, worker } = await place.answer("transaction", { input: { way: "list" } });
  const listed = value as ListedTransaction[];
  return listed.map(({ id, parent, ...each }) => ({
    ...each,
    id: remoteId(id, worker),
    ...(parent !== undefined && { parent: remoteId(parent, worker) }),
  }));
}

const isLocal = (method: string) =>
  invalidState(`${method}: a transaction on a worker has no branches yet`);

type Opened = Pick<Transaction, "id" | "backend" | "backendReason" | "recovered" | "parent">;

/** The request for a transaction; see `TransactionInput` of the worker. */
export type TransactionRequest = { input: object; onWorker?: string | undefined };

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

  private constructor(place: RemotePlace, run: RemoteRun, opened: Opened) {
    this.id = remoteId(opened.id, run.worker ?? "");
    this.backend = opened.backend;
    this.backendReason = opened.backendReason;
    this.recovered = opened.recovered;
    const { parent } = opened;
    this.parent = parent === undefined ? undefined : remoteId(parent, run.worker ?? "");
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
    if (options?.since !== undefined) throw isLocal("changes({ since })");
    return (await this.#ask("changes", [options])) as Change[];
  }

  async runs(): Promise<TransactionRun[]> {
    return (await this.#ask("runs")) as TransactionRun[];
  }

  async diff(options?: DiffOptions): Promise<string> {
    if (options?.since !== undefined) throw isLocal("diff({ since })");
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

  /** @throws (rejects) always: what is done with two transactions is done where both are open. */
  async fork(): Promise<never> {
    throw isLocal("fork");
  }

  /** @throws (rejects) always, like `fork` */
  async merge(): Promise<never> {
    throw isLocal("merge");
  }

  /** @throws (rejects) always, like `fork` */
  async adopt(): Promise<never> {
    throw isLocal("adopt");
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
