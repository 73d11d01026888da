/** Output of a run's command, sent to the caller within the credit that the caller has given. */

import { Changes } from "../deferred.js";

const kStreams = [1, 2] as const;
/** Most bytes of both streams that go with the end of a run, which may be sent again. */
const kMostInEnd = 200 * 1024;
/** Such a frame is a message of its own, of the greatest length; see `Outbox` in wire/frame.ts. */
const kMostInFrame = 15 * 1024;

/** Most bytes of one stream on their way, whatever credit a caller gives. */
const kMostCredit = 1024 ** 2;
/** Milliseconds without credit after which the output of a command that has ended is dropped: its run holds a slot. */
const kUntakenMs = 60_000;

/** 1: standard output, 2: standard error. */
export type StreamNumber = (typeof kStreams)[number];

type Stream = { waiting: Uint8Array[]; bytes: number; sent: number; credit: number };

const none = (credit: number): Stream => ({ waiting: [], bytes: 0, sent: 0, credit });

/** Belongs to one run. The code that pushes bounds the buffered bytes: by the run's limits, or by {@link hasRoom}. */
export class Output {
  readonly #streams: Record<StreamNumber, Stream>;
  readonly #send: (stream: StreamNumber, at: number, bytes: Uint8Array) => void;
  readonly #changes = new Changes();
  #isDropped = false;
  #isCut = false;
  readonly #untakenMs: number;
  /** Runs once the command has ended, and begins anew with each credit. */
  #untaken: ReturnType<typeof setTimeout> | undefined;

  /** @param credit bytes of each stream that may be sent at once; more than 1 MiB counts as 1 MiB */
  constructor(
    credit: number,
    send: (stream: StreamNumber, at: number, bytes: Uint8Array) => void,
    untakenMs = kUntakenMs,
  ) {
    const most = Math.min(credit, kMostCredit);
    this.#streams = { 1: none(most), 2: none(most) };
    this.#send = send;
    this.#untakenMs = untakenMs;
  }

  push(stream: StreamNumber, bytes: Uint8Array): void {
    const { [stream]: to } = this.#streams;
    to.waiting.push(bytes);
    to.bytes += bytes.length;
    if (!this.#isDropped) this.#go(stream);
    else if (this.#left() > kMostInEnd) this.drop();
  }

  /** Adds credit, up to 1 MiB. */
  grant(number: StreamNumber, bytes: number): void {
    const stream = this.#streams[number];
    stream.credit = Math.max(stream.credit, Math.min(kMostCredit, stream.credit + bytes));
    this.#untaken?.refresh();
    this.#go(number);
    this.#changes.happened();
  }

  /** Sends what is buffered of a stream without credit: its command writes no more to it. */
  release(number: StreamNumber): void {
    this.#streams[number].credit = Number.POSITIVE_INFINITY;
    this.#go(number);
    this.#changes.happened();
  }

  /** True if all that was pushed has been sent. */
  hasRoom(stream: StreamNumber): boolean {
    return this.#streams[stream].bytes === 0;
  }

  /** Resolves when `isSo` returns true; checks again whenever the caller gives credit. */
  async until(isSo: () => boolean): Promise<void> {
    while (!isSo()) {
      await this.#changes.next();
    }
  }

  /** Records that the command has ended: output that its caller does not take is dropped after a while. */
  finish(): void {
    this.#untaken ??= setTimeout(() => this.drop(), this.#untakenMs).unref();
  }

  /** Returns the unsent output, once it is short enough for the end. */
  async rest(): Promise<Uint8Array[]> {
    this.finish();
    await this.until(() => this.#left() <= kMostInEnd);
    clearTimeout(this.#untaken);
    return kStreams.map((stream) => Buffer.concat(this.#streams[stream].waiting));
  }

  /** Bytes of each stream that count as sent, and whether some of them were dropped instead. */
  get reported(): { sent: [number, number]; isCut: boolean } {
    return { sent: [this.#streams[1].sent, this.#streams[2].sent], isCut: this.#isCut };
  }

  /** Sends all buffered output without credit, since the run is ended and will write no more. */
  letGo(): void {
    for (const stream of kStreams) this.release(stream);
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
    this.#changes.happened();
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

/** Milliseconds without input, after it was asked for, that end a run: it holds a slot. */
const kAbsentMs = 30_000;
const kFirstRoom = 64 * 1024;

export class StdinBuffer {
  /**
   * All input; undefined if the run has none.
   * @throws (rejects) Error when the input does not come
   */
  readonly whole: Promise<Uint8Array | undefined>;
  readonly #size: number;
  readonly #taken: (bytes: number) => void;
  /** Copies of what has come, since a small part keeps a whole message; grows as input comes, not as it was announced. */
  #bytes = Buffer.alloc(0);
  #length = 0;
  #finish: (bytes: Uint8Array | undefined) => void = () => {};
  #absent: ReturnType<typeof setTimeout> | undefined;
  #isOver = true;

  /**
   * @param size announced bytes; undefined: no input
   * @param first bytes received with the grant
   * @param taken requests that many more bytes
   */
  constructor(
    size: number | undefined,
    first: Uint8Array,
    taken: (bytes: number) => void,
    absentMs = kAbsentMs,
  ) {
    this.#taken = taken;
    this.#size = size ?? 0;
    if (size === undefined) {
      this.whole = Promise.resolve(undefined);
      return;
    }
    this.#isOver = false;
    this.whole = new Promise((resolve, reject) => {
      this.#finish = resolve;
      if (size === 0 || first.length >= size) return;
      this.#absent = setTimeout(() => {
        this.#end();
        reject(
          new Error(
            `${this.#length} of ${size} bytes of input have come, and no more for ${absentMs} ms`,
          ),
        );
      }, absentMs).unref();
    });
    this.whole.catch(() => {}); // the guest reports it, once it has a place
    if (size === 0 || first.length > 0) this.add(first, true);
    else taken(Math.min(kInputWindow, size));
  }

  /** Adds input; what comes beyond the announced size is ignored. */
  add(bytes: Uint8Array, isFirst = false): void {
    if (this.#isOver) return;
    this.#absent?.refresh();
    const part = bytes.subarray(0, this.#size - this.#length);
    this.#reserve(this.#length + part.length);
    this.#bytes.set(part, this.#length);
    this.#length += part.length;
    if (this.#length === this.#size) this.drop();
    else if (!isFirst) this.#taken(bytes.length);
  }

  /** Ends the input: the rest will not arrive. */
  drop(): void {
    if (this.#isOver) return;
    this.#finish(this.#bytes.subarray(0, this.#length));
    this.#end();
  }

  #end(): void {
    this.#isOver = true;
    clearTimeout(this.#absent);
    this.#bytes = Buffer.alloc(0);
  }

  #reserve(bytes: number): void {
    if (bytes <= this.#bytes.length) return;
    const room = Math.min(this.#size, Math.max(bytes, kFirstRoom, 2 * this.#bytes.length));
    const larger = Buffer.allocUnsafeSlow(room);
    larger.set(this.#bytes.subarray(0, this.#length));
    this.#bytes = larger;
  }
}
