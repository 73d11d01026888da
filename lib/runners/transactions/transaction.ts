import type { TransactionHandle } from "../../../types/addon.js";
import type { BubblewrapNativeRunnerOptions } from "../../../types/public.js";
import type {
  Change,
  ChangesOptions,
  DiffOptions,
  Transaction,
} from "../../../types/transaction.js";
import { fromNative, SandboxError } from "../../errors.js";
import { SessionRunner } from "../session-runner.js";
import { Supervised } from "../supervised.js";

/** One transaction that is open; made by `Transactions`. */
export class WorkspaceTransaction extends SessionRunner implements Transaction {
  readonly id: string;
  readonly backend: "overlay";
  readonly #supervised: Supervised;
  readonly #handle: TransactionHandle;
  #discarded: Promise<void> | undefined;

  /** @param runner the options of the runner, which it shares. */
  constructor(
    handle: TransactionHandle,
    runner: BubblewrapNativeRunnerOptions,
    id: string,
    backend: "overlay",
  ) {
    const supervised = new Supervised(
      (addon) => new addon.BubblewrapNativeRunner(runner, handle),
      undefined,
      "transaction",
    );
    super(supervised, { shadowDir: runner.shadowDir, write: false }, (addon, session) => {
      return new addon.BubblewrapSession(runner, session, handle);
    });
    this.id = id;
    this.backend = backend;
    this.#supervised = supervised;
    this.#handle = handle;
  }

  /** The runner's would be the host's own, past the transaction. @throws always, for now. */
  override get files(): never {
    throw new SandboxError("a transaction has no `files` yet", {
      code: "ERR_SANDBOX_UNAVAILABLE",
      fix: "read and write with commands, or use the runner's own for the host's files",
    });
  }

  async warm(): Promise<number> {
    return this.#supervised.warm();
  }

  async changes(options: ChangesOptions = {}): Promise<Change[]> {
    try {
      return await this.#handle.changes(options);
    } catch (error) {
      throw fromNative(error);
    }
  }

  async diff(options: DiffOptions = {}): Promise<string> {
    try {
      return await this.#handle.diff(options);
    } catch (error) {
      throw fromNative(error);
    }
  }

  override async close(): Promise<void> {
    await super.close();
    await this.#handle.close();
  }

  async discard(): Promise<void> {
    this.#discarded ??= this.#discard();
    return this.#discarded;
  }

  override async [Symbol.asyncDispose](): Promise<void> {
    await this.discard();
  }

  async #discard(): Promise<void> {
    await super.close();
    try {
      await this.#handle.discard();
    } catch (error) {
      this.#discarded = undefined; // it may be tried again
      throw fromNative(error);
    }
  }
}
