import { isAbsolute } from "node:path";

import type {
  BubblewrapExplanation,
  NativeExecResult,
  NativeRunner,
  NativeSpawnInput,
  RunnerExecInput,
  SandboxedExecResult,
  SandboxProcess,
} from "../../../types/public.js";
import type {
  RemoteNativeRunnerOptions,
  RemoteQueue,
  RemoteWorkspace,
} from "../../../types/remote/runner-options.js";
import type { BatchOptions, NativeSession, SessionOptions } from "../../../types/session.js";
import type { Transaction } from "../../../types/transaction.js";
import type {
  ListedTransaction,
  ListTransactionsOptions,
  ResumeOptions,
  TransactionOptions,
} from "../../../types/transaction-options.js";
import { invalidType, invalidValue, SandboxError } from "../../errors.js";
import { copyOptions, expectFields, type FieldsOf } from "../../fields.js";
import { type AskedName, kAsked } from "../../options.js";
import { expectToken } from "../subjects.js";
import { toPlain } from "../wire/plain.js";
import { MovedWorkspace } from "../workspace/moved-workspace.js";
import { type Caller, holdCaller } from "./caller.js";
import { type PlaceOptions, RemotePlace } from "./remote-place.js";
import { RemoteProcess } from "./remote-process.js";
import { RemoteSession, remoteBatch } from "./remote-session.js";
import { listTransactions, openTransaction, resumeTransaction } from "./remote-transaction.js";
import { execInputOf } from "./request-of.js";

const kFields: FieldsOf<RemoteNativeRunnerOptions> = {
  servers: true,
  pool: true,
  tenant: true,
  workspace: true,
  credentials: true,
  tls: true,
  insecure: true,
  queueTimeoutMs: true,
  ...(Object.fromEntries(kAsked.map((name) => [name, true])) as Record<AskedName, true>),
};

/**
 * Runs commands on the workers of a pool, in the sandboxes that `BubblewrapNativeRunner` makes there. A command starts
 * at most once. Its outcome is the one its worker reports, or `lost` when no worker can report it.
 *
 * The constructor does no I/O and copies the options. Runners with the same broker, credentials and tenant share a
 * connection, which keeps the process alive only while something runs.
 *
 * @example
 * const runner = new RemoteNativeRunner({ servers: ["tls://nats.example.org"], pool: "build", tenant: "ada",
 *   credentials: { file: "/etc/agents/ada.creds" }, workspace: "/srv/workspaces/ada/42" });
 */
export class RemoteNativeRunner implements NativeRunner {
  /** The pool of workers. */
  readonly pool: string;
  /** The tenant on whose behalf commands run. Default "default". */
  readonly tenant: string;
  readonly #place: RemotePlace;
  readonly #used: () => Caller | undefined;
  readonly #release: () => Promise<void>;
  readonly #moved: MovedWorkspace | undefined;
  readonly #sessions = new Set<RemoteSession>();
  #isClosed = false;

  /** @throws TypeError or RangeError on a wrong option. */
  constructor(options: RemoteNativeRunnerOptions) {
    expectFields(options, "options", kFields);
    const own = copyOptions(options);
    const { pool, tenant = "default" } = own;
    expectToken(pool, "pool");
    expectToken(tenant, "tenant");
    this.pool = pool;
    this.tenant = tenant;
    const queueTimeoutMs = queueTimeoutOf(own.queueTimeoutMs);
    const policy = policyOf(own);
    const { workspace, moved } = workspaceOf(own.workspace);
    const { servers, credentials, tls, insecure } = own;
    const held = holdCaller({ servers, credentials, tls, insecure }, this.tenant);
    this.#used = held.used;
    this.#release = held.release;
    this.#moved = moved;
    const { caller } = held;
    this.#place = new RemotePlace({ caller, pool, policy, workspace, moved, queueTimeoutMs });
  }

  /**
   * Never called: the least type that a subclass has to return, so that its own `exec` may return only a {@link
   * NativeExecResult}.
   */
  exec(input: never, alone: never): Promise<NativeExecResult>;
  /**
   * Runs one command and resolves with its outcome, including failures of the command.
   *
   * @throws (rejects) TypeError or RangeError with a Node `code` on misuse, and on requests that the worker's policy
   * does not allow; {@link SandboxError} when no sandbox can be made, here or on the worker; the error that a streaming
   * callback threw.
   */
  exec<Result extends SandboxedExecResult = SandboxedExecResult>(
    input: RunnerExecInput,
  ): Promise<Result>;
  async exec(input: RunnerExecInput): Promise<SandboxedExecResult> {
    this.#expectOpen();
    return this.#place.exec(input);
  }

  /** As `BubblewrapNativeRunner.spawn`. The process holds a slot of its worker. */
  async spawn(input: NativeSpawnInput): Promise<SandboxProcess> {
    this.#expectOpen();
    return RemoteProcess.spawn(this.#place, input);
  }

  /** As `BubblewrapNativeRunner.openSession`. The session holds a slot of its worker while it is open. */
  async openSession(options: SessionOptions = {}): Promise<NativeSession> {
    this.#expectOpen();
    const session = await RemoteSession.open(this.#place, options);
    this.#sessions.add(session);
    void session.ended.then(() => this.#sessions.delete(session));
    return session;
  }

  /** As `BubblewrapNativeRunner.execBatch`. Commands take no callbacks and no signals of their own. */
  async execBatch(
    commands: readonly (RunnerExecInput | string[])[],
    options: BatchOptions = {},
  ): Promise<SandboxedExecResult[]> {
    this.#expectOpen();
    return remoteBatch(this.#place, commands, options);
  }

  /** As `BubblewrapNativeRunner.explain`, by a worker that has a free slot. */
  async explain(given: RunnerExecInput): Promise<BubblewrapExplanation> {
    this.#expectOpen();
    const { input } = execInputOf(given);
    const { value } = await this.#place.answer("explain", { input });
    return value as BubblewrapExplanation;
  }

  /**
   * As `BubblewrapNativeRunner.openTransaction`, on a worker, in that worker's state directory; `onProgress` is
   * refused. The transaction holds a slot while it is open; commands inside it take no further slot. Its `id` also
   * names the worker.
   *
   * @throws (rejects) as there; TypeError for a `directory`, which is the worker's own.
   */
  async openTransaction(options: TransactionOptions = {}): Promise<Transaction> {
    this.#expectOpen();
    return openTransaction(this.#place, options);
  }

  /**
   * As `BubblewrapNativeRunner.resumeTransaction`, on the worker that `id` names. Waits for that worker.
   *
   * @throws (rejects) as there; TypeError for an `id` that does not name a remote transaction.
   */
  async resumeTransaction(id: string, options: ResumeOptions = {}): Promise<Transaction> {
    this.#expectOpen();
    return resumeTransaction(this.#place, id, options);
  }

  /**
   * Returns the transactions of this workspace on one worker: the worker that answers first, if the pool has several.
   *
   * @throws (rejects) TypeError on an invalid option.
   */
  async transactions(
    options: Pick<ListTransactionsOptions, "sizes"> = {},
  ): Promise<ListedTransaction[]> {
    this.#expectOpen();
    return listTransactions(this.#place, options);
  }

  /**
   * Returns what this process has asked of the pool: how much waits, how long, and what workers have. For a metric that
   * grows also where no worker is left. Costs some time for each run that has not ended.
   */
  queue(): RemoteQueue {
    const none = { waiting: 0, longestWaitMs: 0, granted: 0, isConnected: false };
    return this.#used()?.queueOf(this.pool) ?? none;
  }

  /**
   * Aborts commands, ends sessions, and closes transactions, which stay on disk. Resolves when their workers have
   * reported that all has ended, or are lost. Later runs reject with ERR_SANDBOX_CLOSED. The last runner of a
   * connection closes it.
   */
  async close(): Promise<void> {
    this.#isClosed = true;
    const sessions = [...this.#sessions].map((session) => session.close());
    await Promise.allSettled([this.#place.endRuns(), ...sessions]);
    await this.#moved?.close();
    await this.#release();
  }

  /** `await using`: {@link close}. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  #expectOpen(): void {
    if (!this.#isClosed) return;
    throw new SandboxError("the runner was closed", { code: "ERR_SANDBOX_CLOSED" });
  }
}

/** Options of `RemoteNativeRunner` in the form sent to workers. Pure. */

const kQueueTimeoutMs = 60_000;

function queueTimeoutOf(value: unknown = kQueueTimeoutMs): number {
  if (typeof value !== "number") throw invalidType("queueTimeoutMs", "a number > 0", value);
  if (value > 0) return value;
  const error = new RangeError(`Expected \`queueTimeoutMs\` to be > 0, got ${value}`);
  throw Object.assign(error, { code: "ERR_OUT_OF_RANGE" });
}

/**
 * Returns the options that the worker's policy decides on.
 * @throws TypeError for options that a remote run can't have
 */
function policyOf(options: RemoteNativeRunnerOptions): unknown {
  const { network } = options;
  if (typeof network === "object" && network !== null && network.onRequest !== undefined) {
    throw invalidValue("`network.onRequest` can't be asked by a worker: name hosts in `allow`");
  }
  for (const name of ["secrets", "http"]) {
    if (!Object.hasOwn(Object(network), name)) continue;
    throw invalidValue(
      `\`network.${name}\` can't be sent to a worker: it is for runners of this machine`,
    );
  }
  return toPlain(Object.fromEntries(kAsked.map((name) => [name, options[name]])), "options");
}

/** @throws TypeError unless `workspace` is an absolute path, or a directory to be moved */
function workspaceOf(workspace: RemoteWorkspace): Pick<PlaceOptions, "workspace" | "moved"> {
  if (typeof workspace !== "object" || workspace === null) {
    return { workspace: absolute("workspace", workspace) };
  }
  absolute("workspace.directory", workspace.directory);
  return { workspace: { isMoved: true }, moved: new MovedWorkspace(workspace) };
}

function absolute(field: string, value: unknown): string {
  if (typeof value !== "string") throw invalidType(field, "an absolute path", value);
  if (isAbsolute(value) && !value.includes("\0")) return value;
  throw invalidValue(`Expected \`${field}\` to be an absolute path, got ${JSON.stringify(value)}`);
}
