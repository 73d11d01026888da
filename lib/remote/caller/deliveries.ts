type Granted = { run: number; attempt: number };

const kMostKept = 4_096;

/**
 * Which grants are in which message to a worker. The broker says of a message that it has reached nobody: then none of
 * these was started, and all may be granted to others. Pure.
 */
export class Deliveries {
  readonly #waiting = new Map<string, Granted[]>();
  readonly #sent = new Map<number, Granted[]>();
  #messages = 0;

  /** A grant that goes with the next message to the worker. */
  add(worker: string, run: number, attempt: number): void {
    const granted = this.#waiting.get(worker);
    if (granted === undefined) this.#waiting.set(worker, [{ run, attempt }]);
    else granted.push({ run, attempt });
  }

  /** A message goes now. Gives the number by which it is told of; 0 where nothing depends on it. */
  send(worker: string): number {
    const granted = this.#waiting.get(worker);
    if (granted === undefined) return 0;
    this.#waiting.delete(worker);
    const number = ++this.#messages;
    this.#sent.set(number, granted);
    this.#sent.delete(number - kMostKept); // what is not told of after so many was delivered
    return number;
  }

  /** It has reached nobody. */
  undelivered(number: number): readonly Granted[] {
    const granted = this.#sent.get(number) ?? [];
    this.#sent.delete(number);
    return granted;
  }
}
