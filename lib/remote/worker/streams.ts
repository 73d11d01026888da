/** What a run's command writes, on its way to the caller: no more than that has taken, or said it would. */

const kStreams = [1, 2] as const;
/** As much of both streams goes with the end of a run, which is sent again if need be. */
const kMostInEnd = 200 * 1024;
/** One such frame is a message of its own, as long as one may be; see wire/outbox.ts. */
const kMostInFrame = 15 * 1024;

/** Standard output, standard error. */
export type StreamNumber = (typeof kStreams)[number];

type Stream = { waiting: Uint8Array[]; bytes: number; sent: number; credit: number };

const none = (credit: number): Stream => ({ waiting: [], bytes: 0, sent: 0, credit });

/** Belongs to one run. What waits here is bounded by who pushes: the run's limits, or {@link hasRoom}. */
export class Output {
  readonly #streams: Record<StreamNumber, Stream>;
  readonly #send: (stream: StreamNumber, at: number, bytes: Uint8Array) => void;
  #moved = () => {};
  #isDropped = false;
  #isCut = false;

  /** @param credit bytes of each stream that may be sent at once. */
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

  /** All that was pushed is sent. */
  hasRoom(stream: StreamNumber): boolean {
    return this.#streams[stream].bytes === 0;
  }

  /** Resolves when `isSo`, which is asked whenever the caller has taken something. */
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

  /** What is left, once it is short enough for the end. */
  async rest(): Promise<Uint8Array[]> {
    await this.until(() => this.#left() <= kMostInEnd);
    return kStreams.map((stream) => Buffer.concat(this.#streams[stream].waiting));
  }

  /** Bytes of each stream that were sent, and whether some of them only count as that. */
  get reported(): { sent: [number, number]; isCut: boolean } {
    return { sent: [this.#streams[1].sent, this.#streams[2].sent], isCut: this.#isCut };
  }

  /** The run is ended, so no more than is there will come: it goes whether or not it is taken. */
  letGo(): void {
    for (const stream of kStreams) this.grant(stream, Number.POSITIVE_INFINITY);
  }

  /**
   * Nobody takes anything any more. What waits counts as sent, so that nobody takes the rest for all of it; what comes
   * is for the end alone.
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
