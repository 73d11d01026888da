/** What has come of one stream, in order whatever came first. Pure. */
export class ReceivedOutput {
  readonly #take: (bytes: Uint8Array) => void;
  /** What came before its turn. */
  readonly #early = new Map<number, Uint8Array>();
  #length = 0;

  /** @param take is given all bytes, in order. */
  constructor(take: (bytes: Uint8Array) => void) {
    this.#take = take;
  }

  /** Bytes that are here without a gap. */
  get length(): number {
    return this.#length;
  }

  /** What comes a second time is dropped. */
  add(at: number, bytes: Uint8Array): void {
    if (at > this.#length) this.#early.set(at, bytes);
    if (at !== this.#length) return;
    this.#next(bytes);
    for (let next = this.#early.get(this.#length); next; next = this.#early.get(this.#length)) {
      this.#early.delete(this.#length);
      this.#next(next);
    }
  }

  #next(bytes: Uint8Array): void {
    if (bytes.length === 0) return;
    this.#length += bytes.length;
    this.#take(bytes);
  }
}
