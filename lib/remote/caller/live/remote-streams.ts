/** The streams of a live process on another machine; bytes wait in windows that both sides know. */

import { Readable, Writable } from "node:stream";

const kHighWaterMark = 64 * 1024;
const kMostInMessage = 64 * 1024;
/** What was taken is told in so many parts of the window: each is a message. */
const kSteps = 4;

/** One output; whoever reads it says how far the worker may go on. */
export class RemoteOutput extends Readable {
  readonly #step: number;
  readonly #taken: (bytes: number) => void;
  readonly #closed: () => void;
  #untold = 0;

  /** @param window bytes that the worker may send before any is taken. */
  constructor(window: number, taken: (bytes: number) => void, closed: () => void) {
    super({ highWaterMark: kHighWaterMark });
    this.#step = Math.ceil(window / kSteps);
    this.#taken = taken;
    this.#closed = closed;
  }

  deliver(bytes: Uint8Array): void {
    if (this.destroyed) return;
    this.#untold += bytes.length;
    this.push(bytes);
  }

  finish(): void {
    if (!this.destroyed) this.push(null);
  }

  override _read(): void {
    if (this.#untold < this.#step) return; // the worker has the rest of its window meanwhile
    const bytes = this.#untold;
    this.#untold = 0;
    this.#taken(bytes);
  }

  override _destroy(error: Error | null, callback: (error?: Error | null) => void): void {
    this.#closed();
    callback(error);
  }
}

type Done = (error?: Error | null) => void;

/** The input; at most `window` bytes are on their way to the command. */
export class RemoteInput extends Writable {
  readonly #send: (bytes: Uint8Array) => void;
  readonly #end: () => void;
  #room: number;
  #untaken = 0;
  #waiting: { bytes: Uint8Array; done: Done } | undefined;
  #isClosed = false;

  constructor(window: number, send: (bytes: Uint8Array) => void, end: () => void) {
    super({ highWaterMark: kHighWaterMark });
    this.#room = window;
    this.#send = send;
    this.#end = end;
    this.on("error", () => {}); // what a command does not read is no fault of the host
  }

  /** The command has taken so many. */
  taken(bytes: number): void {
    this.#room += bytes;
    this.#untaken = Math.max(0, this.#untaken - bytes);
    this.#go();
  }

  /** It has closed its input. */
  closedByCommand(): void {
    this.#isClosed = true;
    this.#go();
  }

  /** It has ended. */
  finish(): void {
    this.closedByCommand();
    this.destroy();
  }

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: Done): void {
    this.#waiting = { bytes: chunk, done };
    this.#go();
  }

  override _writev(chunks: { chunk: Buffer }[], done: Done): void {
    this.#waiting = { bytes: Buffer.concat(chunks.map(({ chunk }) => chunk)), done };
    this.#go();
  }

  override _final(done: Done): void {
    this.#end();
    done();
  }

  override _destroy(error: Error | null, done: Done): void {
    const waiting = this.#waiting;
    this.#waiting = undefined;
    if (!this.writableFinished) this.#end();
    done(error);
    const cut = Object.assign(new Error("write after destroy"), { code: "ERR_STREAM_DESTROYED" });
    waiting?.done(error ?? cut);
  }

  #go(): void {
    const waiting = this.#waiting;
    if (waiting === undefined) return;
    if (this.#isClosed) {
      this.#waiting = undefined;
      waiting.done(Object.assign(new Error("write EPIPE"), { code: "EPIPE" }));
      return;
    }
    while (waiting.bytes.length > 0 && this.#room > 0) {
      const piece = waiting.bytes.subarray(0, Math.min(kMostInMessage, this.#room));
      waiting.bytes = waiting.bytes.subarray(piece.length);
      this.#room -= piece.length;
      this.#untaken += piece.length;
      this.#send(piece);
    }
    // As here, a write is done when the command's pipe or terminal has it.
    if (waiting.bytes.length > 0 || this.#untaken > 0) return;
    this.#waiting = undefined;
    waiting.done();
  }
}
