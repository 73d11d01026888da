/** Lines of a stream that comes in pieces; one that is too long is told by its ends, and never held. Pure. */

const kNewline = 0x0a;
const kKept = 512;

/** What is done with lines. */
export type LineHandlers = {
  /** One line of UTF-8, without its end. Empty ones are left out. */
  onLine(line: string): void;
  /** One that is longer than may be: its first and its last bytes. */
  onLong(begin: string, end: string): void;
};

export class LineReader {
  readonly #most: number;
  readonly #handlers: LineHandlers;
  #parts: Buffer[] = [];
  #bytes = 0;
  #begin: Buffer | undefined; // of a line that is too long, the parts are its end then

  /** @param most bytes of a line. */
  constructor(most: number, handlers: LineHandlers) {
    this.#most = most;
    this.#handlers = handlers;
  }

  take(chunk: Buffer): void {
    let from = 0;
    for (let at = chunk.indexOf(kNewline); at !== -1; at = chunk.indexOf(kNewline, from)) {
      this.#add(chunk.subarray(from, at));
      this.#end();
      from = at + 1;
    }
    this.#add(chunk.subarray(from));
  }

  #add(part: Buffer): void {
    if (part.length === 0) return;
    this.#bytes += part.length;
    this.#parts.push(part);
    if (this.#bytes <= this.#most) return;
    const all = this.#joined();
    this.#begin ??= Buffer.from(all.subarray(0, kKept));
    this.#parts = [Buffer.from(all.subarray(-kKept))];
  }

  #end(): void {
    const all = this.#joined();
    const begin = this.#begin;
    this.#parts = [];
    this.#bytes = 0;
    this.#begin = undefined;
    if (begin !== undefined) this.#handlers.onLong(begin.toString(), all.toString());
    else if (all.length > 0) this.#handlers.onLine(all.toString());
  }

  #joined(): Buffer {
    const [only] = this.#parts;
    return only !== undefined && this.#parts.length === 1 ? only : Buffer.concat(this.#parts);
  }
}
