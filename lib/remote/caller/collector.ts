/** The output of a run, as it comes. */

type Parts = { pieces: Uint8Array[]; bytes: number };

/** Who looks at it. */
export type Watchers = {
  /** So many bytes were taken. */
  taken(stream: 1 | 2, bytes: number): void;
  /** Called with each piece; whoever throws is told of nothing more. */
  onPiece?(stream: 1 | 2, bytes: Uint8Array): void;
};

/** Credit is given back in halves of the window. */
export class OutputCollector {
  readonly #parts: Record<1 | 2, Parts> = {
    1: { pieces: [], bytes: 0 },
    2: { pieces: [], bytes: 0 },
  };
  readonly #untold = { 1: 0, 2: 0 };
  /** Bytes of each that were only shown, once what is kept comes behind them. */
  #shown: Record<1 | 2, number> | undefined;
  readonly #watchers: Watchers;
  readonly #window: number;

  constructor(window: number, watchers: Watchers) {
    this.#window = window;
    this.#watchers = watchers;
  }

  add(stream: 1 | 2, bytes: Uint8Array): void {
    this.#keep(stream, bytes);
    if (this.#shown === undefined) this.#watchers.onPiece?.(stream, bytes);
    this.#untold[stream] += bytes.length;
    if (this.#untold[stream] * 2 < this.#window) return;
    this.#watchers.taken(stream, this.#untold[stream]);
    this.#untold[stream] = 0;
  }

  /** All that was to be looked at has come; what comes now is what is kept of it. */
  keptFollows(): void {
    this.#shown = { 1: this.#parts[1].bytes, 2: this.#parts[2].bytes };
  }

  /** What came with the end is looked at too. */
  showRest(rest: readonly Uint8Array[]): void {
    if (this.#shown !== undefined) return;
    for (const stream of [1, 2] as const) {
      const bytes = rest[stream - 1];
      if (bytes?.length) this.#watchers.onPiece?.(stream, bytes);
    }
  }

  #keep(stream: 1 | 2, bytes: Uint8Array): void {
    this.#parts[stream].pieces.push(bytes);
    this.#parts[stream].bytes += bytes.length;
  }

  /** What is kept of one stream, and what came with the end: a plain array of its own. */
  whole(stream: 1 | 2, rest: Uint8Array | undefined): Uint8Array {
    const skipped = this.#shown?.[stream] ?? 0;
    const { pieces, bytes } = this.#parts[stream];
    const whole = new Uint8Array(bytes + (rest?.length ?? 0) - skipped);
    let at = -skipped;
    for (const piece of rest === undefined ? pieces : [...pieces, rest]) {
      if (at + piece.length > 0) whole.set(at < 0 ? piece.subarray(-at) : piece, Math.max(0, at));
      at += piece.length;
    }
    return whole;
  }
}
