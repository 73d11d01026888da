/** A worker that has been full for so long does not ask for runs; short bursts are no reason to. */
const kFullMs = 20;

/** While a worker has slots, callers that look for a free worker find it. */
export class FreeDoor {
  readonly #open: () => () => void;
  readonly #hasRoom: () => boolean;
  #close: (() => void) | undefined;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #isOver = false;

  /** @param open subscribes, and gives what ends that. */
  constructor(open: () => () => void, hasRoom: () => boolean) {
    this.#open = open;
    this.#hasRoom = hasRoom;
  }

  /** A slot may have been taken, or given back. */
  look(): void {
    if (this.#isOver) return;
    if (this.#hasRoom()) {
      clearTimeout(this.#timer);
      this.#timer = undefined;
      this.#close ??= this.#open();
    } else if (this.#close !== undefined) {
      this.#timer ??= setTimeout(() => this.#shut(), kFullMs);
    }
  }

  /** It is not opened any more. */
  close(): void {
    this.#isOver = true;
    clearTimeout(this.#timer);
    this.#close?.();
    this.#close = undefined;
  }

  #shut(): void {
    this.#timer = undefined;
    if (this.#hasRoom()) return;
    this.#close?.();
    this.#close = undefined;
  }
}
