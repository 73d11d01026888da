/** The transactions of one runner, which are closed with it. */

import type { BubblewrapNativeRunnerOptions } from "../../../types/public.js";
import type { Transaction, TransactionOptions } from "../../../types/transaction.js";
import { fromNative, invalidType, invalidValue, SandboxError } from "../../errors.js";
import { expectFields, type FieldsOf } from "../../fields.js";
import { loadAddon } from "../../native.js";
import { defaultStateDirectory } from "./state-directory.js";
import { WorkspaceTransaction } from "./transaction.js";

const kOptions: FieldsOf<TransactionOptions> = { directory: true, backend: true };
const kBackends: readonly unknown[] = ["auto", "overlay"];

/** Each option read once. @throws TypeError for one that can't be used. */
function directoryOf(options: TransactionOptions): string {
  expectFields(options, "options", kOptions);
  const { directory, backend = "auto" } = options;
  if (!kBackends.includes(backend)) {
    throw invalidValue(`Expected \`backend\` to be "auto" or "overlay", got ${String(backend)}`);
  }
  if (directory !== undefined && typeof directory !== "string") {
    throw invalidType("directory", "a string", directory);
  }
  return directory ?? defaultStateDirectory();
}

export class Transactions {
  readonly #runner: BubblewrapNativeRunnerOptions;
  readonly #open = new Set<WeakRef<WorkspaceTransaction>>();
  #isClosed = false;

  /** @param runner the runner's own copy of its options. */
  constructor(runner: BubblewrapNativeRunnerOptions) {
    this.#runner = runner;
  }

  /** See `BubblewrapNativeRunner.openTransaction`. */
  async open(options: TransactionOptions = {}): Promise<Transaction> {
    return this.#take(directoryOf(options));
  }

  /** See `BubblewrapNativeRunner.resumeTransaction`. */
  async resume(id: string, options: TransactionOptions = {}): Promise<Transaction> {
    const directory = directoryOf(options);
    if (typeof id !== "string") throw invalidType("id", "a string", id);
    return this.#take(directory, id);
  }

  async #take(directory: string, resume?: string): Promise<Transaction> {
    this.#expectOpen();
    try {
      const handle = new (loadAddon().Transaction)();
      const workspace = this.#runner.shadowDir;
      const opened = await handle.open({
        workspace,
        directory,
        ...(resume !== undefined && { resume }),
      });
      const transaction = new WorkspaceTransaction(handle, this.#runner, opened);
      // It came up while the runner was being closed.
      if (this.#isClosed)
        await (resume !== undefined ? transaction.close() : transaction.discard());
      this.#expectOpen();
      this.#open.add(new WeakRef(transaction));
      return transaction;
    } catch (error) {
      throw fromNative(error);
    }
  }

  /** Closes all of them; no other is opened any more. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await Promise.allSettled([...this.#open].map((open) => open.deref()?.close()));
  }

  #expectOpen(): void {
    if (!this.#isClosed) return;
    throw new SandboxError("the runner was closed", { code: "ERR_SANDBOX_CLOSED" });
  }
}
