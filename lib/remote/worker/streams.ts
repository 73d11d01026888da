/** Output of a run's command, sent to the caller within the credit that the caller has given. */

const kStreams = [1, 2] as const;
/** Most bytes of both streams that go with the end of a run, which may be sent again. */
const kMostInEnd = 200 * 1024;
/** Such a frame is a message of its own, of the greatest length; see `Outbox` in wire/frame.ts. */
const kMostInFrame = 15 * 1024;

/** 1: standard output, 2: standard error. */
export type StreamNumber = (typeof kStreams)[number];

type Stream = { waiting: Uint8Array[]; bytes: number; sent: number; credit: number };

const none = (credit: number): Stream => ({ waiting: [], bytes: 0, sent: 0, credit });

/** Belongs to one run. The code that pushes bounds the buffered bytes: by the run's limits, or by {@link hasRoom}. */
export class Output {
  readonly #streams: Record<StreamNumber, Stream>;
  readonly #send: (stream: StreamNumber, at: number, bytes: Uint8Array) => void;
  #moved = () => {};
  #isDropped = false;
  #isCut = false;

  /** @param credit bytes of each stream that may be sent at once */
  constructor(credit: number, send: (stream: StreamNumber, at: number, bytes: Uint8Array) => void) {
    this.#streams = { 1: none(credit), 2: none(credit) };
    this.#send = send;
  }

  push(stream: StreamNumber, bytes: Uint8Array): void {
    const { [stream]: to } = this.#streams;
    to.waiting.push(bytes);
    to.bytes += bytes.length;
    if (!this.#isDropped) this.#go(stream);
    else if (this.#left() > kMostInEnd) this.drop();
  }

  grant(stream: StreamNumber, bytes: number): void {
    this.#streams[stream].credit += bytes;
    this.#go(stream);
    this.#moved();
  }

  /** True if all that was pushed has been sent. */
  hasRoom(stream: StreamNumber): boolean {
    return this.#streams[stream].bytes === 0;
  }

  /** Resolves when `isSo` returns true; checks again whenever the caller gives credit. */
  async until(isSo: () => boolean): Promise<void> {
    while (!isSo()) {
      await new Promise<void>((resolve) => {
        const before = this.#moved;
        this.#moved = () => {
          before();
          resolve();
        };
      });
      this.#moved = () => {};
    }
  }

  /** Returns the unsent output, once it is short enough for the end. */
  async rest(): Promise<Uint8Array[]> {
    await this.until(() => this.#left() <= kMostInEnd);
    return kStreams.map((stream) => Buffer.concat(this.#streams[stream].waiting));
  }

  /** Bytes of each stream that count as sent, and whether some of them were dropped instead. */
  get reported(): { sent: [number, number]; isCut: boolean } {
    return { sent: [this.#streams[1].sent, this.#streams[2].sent], isCut: this.#isCut };
  }

  /** Sends all buffered output without credit, since the run is ended and will write no more. */
  letGo(): void {
    for (const stream of kStreams) this.grant(stream, Number.POSITIVE_INFINITY);
  }

  /**
   * Drops all output, since no caller receives it. Buffered bytes count as sent, with `isCut` set, so that the rest is
   * not taken for the whole; later output goes only with the end.
   */
  drop(): void {
    this.#isDropped = true;
    this.#isCut ||= this.#left() > 0;
    for (const stream of kStreams) {
      this.#streams[stream].sent += this.#streams[stream].bytes;
      this.#streams[stream].waiting = [];
      this.#streams[stream].bytes = 0;
    }
    this.#moved();
  }

  #left(): number {
    return this.#streams[1].bytes + this.#streams[2].bytes;
  }

  #go(number: StreamNumber): void {
    if (this.#isDropped) return;
    const stream = this.#streams[number];
    for (let first = stream.waiting[0]; first !== undefined; first = stream.waiting[0]) {
      const size = Math.min(first.length, kMostInFrame, stream.credit);
      if (size === 0 && first.length > 0) return;
      if (size > 0) this.#send(number, stream.sent, first.subarray(0, size));
      stream.sent += size;
      stream.credit -= size;
      stream.bytes -= size;
      if (size === first.length) stream.waiting.shift();
      else stream.waiting[0] = first.subarray(size);
    }
  }
}

/** Standard input of a command that gets all of it at once: it is collected before the command starts. */

/** Bytes that may be in transit. */
export const kInputWindow = 1024 ** 2;

export class StdinBuffer {
  /** All input; undefined if the run has none. Stays pending when the caller is gone. */
  readonly whole: Promise<Uint8Array | undefined>;
  readonly #size: number;
  /** Received parts; memory is allocated for received bytes only, not for the announced size. */
  readonly #parts: Uint8Array[] = [];
  readonly #taken: (bytes: number) => void;
  #length = 0;
  #finish: (bytes: Uint8Array | undefined) => void = () => {};

  /**
   * @param size announced bytes; undefined: no input
   * @param first bytes received with the grant
   * @param taken requests that many more bytes
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

  /** Ends the input: the rest will not arrive. */
  drop(): void {
    this.#finish(Buffer.concat(this.#parts.splice(0)));
  }
}
