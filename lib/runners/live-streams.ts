/**
 * The streams of a live process over the addon's calls. Bytes wait in three bounded places: the
 * command's pipe or terminal, the addon's window, and the stream's buffer up to its highWaterMark.
 */

import { Readable, Writable, type WritableOptions } from "node:stream";

const kHighWaterMark = 64 * 1024;
const kDestroyed = "ERR_STREAM_DESTROYED"; // Node's, for a write that its stream's end cut off

/** One output of a live process; ends when the process has. */
export class LiveOutput extends Readable {
  readonly #grant: (bytes: number) => void;
  readonly #close: () => void;
  #taken = 0;

  /** `grant` asks for as many bytes more; `close` says that nobody reads any more. */
  constructor(grant: (bytes: number) => void, close: () => void) {
    super({ highWaterMark: kHighWaterMark });
    this.#grant = grant;
    this.#close = close;
  }

  deliver(chunk: Uint8Array): void {
    if (this.destroyed) return;
    this.#taken += chunk.length;
    this.push(chunk);
  }

  finish(): void {
    if (!this.destroyed) this.push(null);
  }

  override _read(): void {
    if (this.#taken === 0) return;
    const taken = this.#taken;
    this.#taken = 0;
    this.#grant(taken);
  }

  override _destroy(error: Error | null, callback: (error?: Error | null) => void): void {
    this.#close();
    callback(error);
  }
}

/** What {@link LiveInput} needs; each call is answered by one of `settle`. */
export type InputSink = {
  write(bytes: Uint8Array): void;
  end(): void;
};

type Done = (error?: Error | null) => void;

/**
 * The input of a live process. What a command does not read is no fault of the host: EPIPE is an
 * "error" event for those who listen, and no uncaught exception for those who do not.
 */
export class LiveInput extends Writable {
  readonly #sink: InputSink;
  #done: Done | undefined;
  #isLast = false;

  constructor(sink: InputSink) {
    const options: WritableOptions = { highWaterMark: kHighWaterMark };
    super(options);
    this.#sink = sink;
    this.on("error", () => {});
  }

  /** The kernel has the bytes of the last call, or (false) nobody reads them any more. */
  settle(isTaken: boolean): void {
    const done = this.#done;
    this.#done = undefined;
    const isLost = !isTaken && !this.#isLast;
    const error = isLost ? Object.assign(new Error("write EPIPE"), { code: "EPIPE" }) : null;
    done?.(error);
  }

  /** The process has ended. */
  finish(): void {
    this.settle(false);
    this.destroy();
  }

  override _write(chunk: Buffer, _encoding: BufferEncoding, callback: Done): void {
    this.#done = callback;
    this.#sink.write(chunk);
  }

  override _writev(chunks: { chunk: Buffer }[], callback: Done): void {
    this.#done = callback;
    this.#sink.write(Buffer.concat(chunks.map(({ chunk }) => chunk)));
  }

  override _final(callback: Done): void {
    this.#isLast = true;
    this.#done = callback;
    this.#sink.end();
  }

  // Node answers the writes that wait in its buffer; the one that is under way is ours.
  override _destroy(error: Error | null, callback: Done): void {
    const done = this.#isLast ? undefined : this.#done;
    this.#done = undefined;
    if (!this.#isLast) this.#sink.end();
    callback(error);
    done?.(error ?? Object.assign(new Error("write after destroy"), { code: kDestroyed }));
  }
}
