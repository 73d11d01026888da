import type { CommitAnswer, OpenedTransaction, TransactionHandle } from "../../../types/addon.js";
import type { BubblewrapNativeRunnerOptions } from "../../../types/public.js";
import type {
  Change,
  ChangesOptions,
  CommitOptions,
  CommitReport,
  DiffOptions,
  Transaction,
} from "../../../types/transaction.js";
import { fromNative } from "../../errors.js";
import { expectFields, type FieldsOf } from "../../fields.js";
import { kProtectedNames } from "../../protected-names.js";
import { SessionRunner } from "../session-runner.js";
import { Supervised } from "../supervised.js";
import { unpacked } from "./changes.js";
import { TransactionError } from "./transaction-error.js";

const kCommitOptions: FieldsOf<CommitOptions> = { paths: true, allowProtected: true };

/** The first of them, for a message. */
function some(paths: readonly string[]): string {
  const kMost = 3;
  const shown = paths.slice(0, kMost).join(", ");
  return paths.length > kMost ? `${shown} and ${paths.length - kMost} more` : shown;
}

/** @throws TransactionError where there is something because of which nothing is done. */
function expectDone(answer: CommitAnswer): CommitAnswer {
  const { conflicts, refused } = answer;
  const pathsOf = (changes: readonly Change[]) => changes.map(({ path }) => path);
  if (conflicts.length > 0) {
    const paths = pathsOf(conflicts);
    const message = `the host has changed ${some(paths)} too`;
    throw new TransactionError(message, "ERR_TRANSACTION_CONFLICT", paths, conflicts);
  }
  if (refused.length > 0) {
    const paths = pathsOf(refused);
    const message = `${some(paths)} is protected: name it in \`allowProtected\` to change it`;
    throw new TransactionError(message, "ERR_TRANSACTION_PROTECTED", paths, refused);
  }
  return answer;
}

/** One transaction that is open; made by `Transactions`. */
export class WorkspaceTransaction extends SessionRunner implements Transaction {
  readonly id: string;
  readonly backend: "overlay";
  readonly recovered: Transaction["recovered"];
  readonly #supervised: Supervised;
  readonly #handle: TransactionHandle;
  #looking = false;
  #looksAgain = false;
  #discarded: Promise<void> | undefined;

  /** @param runner the options of the runner, which it shares. */
  constructor(
    handle: TransactionHandle,
    runner: BubblewrapNativeRunnerOptions,
    { id, backend, recovered }: OpenedTransaction,
  ) {
    const supervised = new Supervised(
      (addon) => new addon.BubblewrapNativeRunner(runner, handle),
      undefined,
      "transaction",
    );
    super(
      supervised,
      { shadowDir: runner.shadowDir, write: runner.allowWriteWorkspace },
      (addon, session) => new addon.BubblewrapSession(runner, session, handle),
      handle,
    );
    supervised.meter.watch(() => void this.#look());
    this.id = id;
    this.backend = backend;
    this.recovered = recovered;
    this.#supervised = supervised;
    this.#handle = handle;
  }

  async warm(): Promise<number> {
    return this.#supervised.warm();
  }

  async changes(options: ChangesOptions = {}): Promise<Change[]> {
    try {
      return await unpacked(await this.#handle.changes(options));
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

  async commit(options: CommitOptions = {}): Promise<CommitReport> {
    expectFields(options, "options", kCommitOptions);
    const request = { ...options, protectedNames: kProtectedNames };
    try {
      expectDone(await this.#handle.check(request));
      await super.close(); // nothing runs while the host's files change
      const { committed, left } = expectDone(await this.#handle.commit(request));
      return { committed: await unpacked(committed), left: await unpacked(left) };
    } catch (error) {
      throw fromNative(error);
    }
  }

  async undo(): Promise<void> {
    await super.close();
    let conflicts: string[];
    try {
      conflicts = await this.#handle.undo();
    } catch (error) {
      throw fromNative(error);
    }
    if (conflicts.length === 0) return;
    const message = `the host has changed ${some(conflicts)} since it was committed`;
    throw new TransactionError(message, "ERR_TRANSACTION_CONFLICT", conflicts);
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

  /** After each run; one at a time, and once more for all that ended meanwhile. */
  async #look(): Promise<void> {
    this.#looksAgain = true;
    if (this.#looking) return;
    this.#looking = true;
    while (this.#looksAgain) {
      this.#looksAgain = false;
      await this.#handle.look().catch(() => {}); // who asks for the changes is told why
    }
    this.#looking = false;
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
