/** The steps back to where a commit began, taken in reverse order when it can't be finished. */
export class UndoLog {
  /** @type {(() => Promise<unknown>)[]} */
  #steps = [];

  /** @param {() => Promise<unknown>} step */
  add(step) {
    this.#steps.push(step);
  }

  /** Takes every step, also after one failed; what failed comes back. */
  async rollBack() {
    /** @type {unknown[]} */
    const failures = [];
    for (const step of this.#steps.reverse()) await step().catch((error) => failures.push(error));
    return failures;
  }
}
