/** What the check of one command may still cost. One of each check; spent, it stays spent. */

import { kMaxDepth, kMost } from "./limits.js";

export class Budget {
  #calls = 0;
  #words = 0;
  #characters = 0;
  #nesting = 0;

  /** Of calls and strings that are run inside each other. */
  get nesting(): number {
    return this.#nesting;
  }

  /** Whether one more call may be looked at. */
  call(): boolean {
    return this.#nesting <= kMaxDepth && ++this.#calls <= kMost.calls;
  }

  /** Whether so many more words may be looked at. */
  words(count: number): boolean {
    this.#words += count;
    return this.#words <= kMost.words;
  }

  /** Whether so much more text may be parsed. */
  characters(count: number): boolean {
    this.#characters += count;
    return this.#characters <= kMost.characters;
  }

  /** Does what is nested one level deeper. */
  nested(work: () => void): void {
    this.#nesting++;
    work();
    this.#nesting--;
  }
}
