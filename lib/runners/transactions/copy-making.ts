import type { OpenedTransaction, TransactionHandle } from "../../../types/addon-transaction.js";
import type { CopyProgress, TransactionOptions } from "../../../types/transaction-options.js";
import { invalidType } from "../../errors.js";
import { checkSignal, onAbort } from "../abort.js";

type OpenOptions = Parameters<TransactionHandle["open"]>[0];

/** Follows the opening of a transaction, in which a copy may be made: tells of it, and may end it. */
export class CopyMaking {
  readonly #signal: AbortSignal | undefined;
  readonly #onProgress: TransactionOptions["onProgress"];
  #thrown: { error: unknown } | undefined;
  #isOver = false;

  /** @throws TypeError for a signal that is none, and for a callback that is no function. */
  constructor({ signal, onProgress }: Pick<TransactionOptions, "signal" | "onProgress">) {
    this.#signal = checkSignal(signal);
    if (onProgress !== undefined && typeof onProgress !== "function") {
      throw invalidType("onProgress", "a function", onProgress);
    }
    this.#onProgress = onProgress;
  }

  /**
   * Opens one. What was copied by then is told before it is there.
   * @throws (rejects) the signal's reason, or what the callback threw: then there is no transaction.
   */
  async open(handle: TransactionHandle, options: OpenOptions): Promise<OpenedTransaction> {
    this.#signal?.throwIfAborted();
    const unsubscribe = onAbort(this.#signal, () => handle.stop());
    try {
      const opened = await handle.open({
        ...options,
        ...(this.#onProgress && { onProgress: (progress) => this.#tell(progress, handle) }),
      });
      if (opened.copied) this.#tell(opened.copied, handle);
      this.#isOver = true;
      if (this.#signal?.aborted || this.#thrown) await handle.discard();
      this.#expectWanted();
      return opened;
    } catch (error) {
      this.#expectWanted();
      throw error;
    } finally {
      this.#isOver = true;
      unsubscribe();
    }
  }

  #expectWanted(): void {
    if (this.#thrown) throw this.#thrown.error;
    this.#signal?.throwIfAborted();
  }

  /** Nothing is thrown into the addon. */
  #tell(progress: CopyProgress, handle: TransactionHandle): void {
    if (this.#isOver || this.#thrown) return;
    try {
      this.#onProgress?.(progress);
    } catch (error) {
      this.#thrown = { error };
      handle.stop();
    }
  }
}
