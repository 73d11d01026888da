/** What one thread keeps for another one, by number. */
export class Kept<Value> {
  readonly #values = new Map<number, Value>();
  #last = 0;

  add(value: Value): number {
    this.#last += 1;
    this.#values.set(this.#last, value);
    return this.#last;
  }

  /** @throws Error where there is none: the thread has been started anew since. */
  get(number: number): Value {
    const value = this.#values.get(number);
    if (value === undefined) throw new Error("the thread of workspaces has lost its state");
    return value;
  }

  take(number: number): Value {
    const value = this.get(number);
    this.#values.delete(number);
    return value;
  }

  delete(number: number): void {
    this.#values.delete(number);
  }
}
