/**
 * Whose turn it is in a transaction: what needs it for itself (a commit, say) comes one after the other,
 * and what is begun in it after that was asked for waits. What was begun before comes first.
 */

export class Turns {
  readonly #beginning: () => Promise<unknown> | undefined;
  #last: Promise<unknown> | undefined;
  #isTaken = false;

  /** @param beginning settles when what is about to be begun is; undefined: nothing is. */
  constructor(beginning: () => Promise<unknown> | undefined) {
    this.#beginning = beginning;
  }

  /** Settles once nobody has, or waits for, the transaction for himself; undefined: nobody does. */
  asked(): Promise<void> | undefined {
    return this.#last && this.#free();
  }

  /** As {@link asked}, once somebody has it. */
  taken(): Promise<void> | undefined {
    return this.#isTaken ? this.asked() : undefined;
  }

  /** `work`, once all that asked before is done. Settles as it does. */
  async alone<Value>(work: () => Promise<Value>): Promise<Value> {
    const done = this.#after(this.#last, this.#beginning(), work);
    const last = done.then(
      () => {},
      () => {},
    );
    this.#last = last;
    try {
      return await done;
    } finally {
      if (this.#last === last) this.#last = undefined;
    }
  }

  async #after<Value>(
    before: Promise<unknown> | undefined,
    beginning: Promise<unknown> | undefined,
    work: () => Promise<Value>,
  ): Promise<Value> {
    await before;
    if (beginning) {
      await beginning.catch(() => {});
      await new Promise((resolve) => setImmediate(resolve)); // now it has begun
    }
    this.#isTaken = true;
    try {
      return await work();
    } finally {
      this.#isTaken = false;
    }
  }

  async #free(): Promise<void> {
    while (this.#last) await this.#last;
  }
}
