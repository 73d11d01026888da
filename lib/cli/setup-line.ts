/**
 * Keeps back the line in which a runner tells on standard error why a run could not be set up, so
 * that it can be told in the command line's own words; everything else goes through as it comes.
 */
export class SetupLine {
  readonly #write: (chunk: Uint8Array) => void;
  #held: Uint8Array | undefined;

  /** @param write where standard error goes. */
  constructor(write: (chunk: Uint8Array) => void) {
    this.#write = write;
  }

  /** A piece of standard error. */
  add(chunk: Uint8Array): void {
    this.#flush();
    if (Buffer.from(chunk).includes("native-runner: ")) this.#held = chunk;
    else this.#write(chunk);
  }

  /** The run is over. @param reason why it could not be set up; undefined where it was. */
  end(reason: string | undefined): void {
    const line = Buffer.from(`native-runner: ${reason}\n`);
    if (reason !== undefined && this.#held !== undefined) {
      const held = Buffer.from(this.#held);
      const at = held.length - line.length;
      if (at >= 0 && held.subarray(at).equals(line)) this.#held = held.subarray(0, at);
    }
    this.#flush();
  }

  #flush(): void {
    const held = this.#held;
    this.#held = undefined;
    if (held !== undefined && held.length > 0) this.#write(held);
  }
}
