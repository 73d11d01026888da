/** Standard input of a command that gets all of it at once: it is put together before the command starts. */

/** Bytes that may be on their way. */
export const kInputWindow = 1024 ** 2;

export class StdinBuffer {
  /** All of it; undefined where there is none. Stays open when its caller goes. */
  readonly whole: Promise<Uint8Array | undefined>;
  readonly #size: number;
  /** What was announced is no reason to take memory; what came is. */
  readonly #parts: Uint8Array[] = [];
  readonly #taken: (bytes: number) => void;
  #length = 0;
  #finish: (bytes: Uint8Array | undefined) => void = () => {};

  /**
   * @param size bytes that come, undefined: none.
   * @param first those that are there.
   * @param taken asks for so many more.
   */
  constructor(size: number | undefined, first: Uint8Array, taken: (bytes: number) => void) {
    this.#taken = taken;
    this.#size = size ?? 0;
    this.whole =
      size === undefined
        ? Promise.resolve(undefined)
        : new Promise((resolve) => {
            this.#finish = resolve;
          });
    if (size === undefined) return;
    if (size === 0 || first.length > 0) this.add(first, true);
    else taken(Math.min(kInputWindow, size));
  }

  add(bytes: Uint8Array, isFirst = false): void {
    const part = bytes.subarray(0, this.#size - this.#length);
    this.#parts.push(part);
    this.#length += part.length;
    if (this.#length === this.#size) this.drop();
    else if (!isFirst) this.#taken(bytes.length);
  }

  /** The rest will not come. */
  drop(): void {
    this.#finish(Buffer.concat(this.#parts.splice(0)));
  }
}
