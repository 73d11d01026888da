/**
 * What the check of one command may still cost, so that no text holds up its caller. Counted in
 * steps, of which each is about the time to look at one character; a clock would make verdicts
 * depend on the machine. One of each check; spent, it stays spent.
 */

import { kMaxDepth, kMaxSteps } from "./limits.js";

export class Budget {
  #steps = kMaxSteps;
  #nesting = 0;

  /** Of calls and strings that are run inside each other. */
  get nesting(): number {
    return this.#nesting;
  }

  get tooDeep(): boolean {
    return this.#nesting > kMaxDepth;
  }

  get spent(): boolean {
    return this.#steps < 0;
  }

  /** Called before work of so many steps; false when it must not be done. */
  spend(steps: number): boolean {
    this.#steps -= steps;
    return this.#steps >= 0;
  }

  /** For work that is not done at all, since it would take too many. */
  exhaust(): void {
    this.#steps = -1;
  }

  /** Does what is nested one level deeper. */
  nested(work: () => void): void {
    this.#nesting++;
    work();
    this.#nesting--;
  }
}
