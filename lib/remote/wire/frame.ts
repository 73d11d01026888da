/**
 * What a message holds: one frame or more, each a header and bytes. Both lengths come first, as 32 bits, the
 * highest first; the header is JSON. Pure.
 */

import * as v from "valibot";

/** A header says by `t` what it is; see messages.ts. */
type Header = { readonly t: string };

/** One thing that is said. */
export type Frame = { header: unknown; body: Uint8Array };

/** A message that is none. It is dropped and counted by whoever receives it. */
export class WireError extends Error {}

/** A frame is at most this long: arguments and environment have 2 MiB in Linux' own bounds. */
export const kMostFrameBytes = 16 * 1024 ** 2;

const kLength = 4;
const kMostFrames = 10_000;
const kNone = new Uint8Array(0);
const decoder = new TextDecoder("utf-8", { fatal: true });

/** The bytes of one frame: what stands before its body, and the body, which is not copied. */
export function encodeFrame(header: Header, body: Uint8Array = kNone): [Buffer, Uint8Array] {
  const text = JSON.stringify(header);
  const size = Buffer.byteLength(text);
  const head = Buffer.allocUnsafe(kLength + size + kLength);
  head.writeUInt32BE(size, 0);
  head.write(text, kLength);
  head.writeUInt32BE(body.length, kLength + size);
  return [head, body];
}

/** The frames of a message; their bodies are parts of it. @throws WireError */
export function decodeFrames(message: Uint8Array): Frame[] {
  const view = new DataView(message.buffer, message.byteOffset, message.byteLength);
  const frames: Frame[] = [];
  let at = 0;
  const part = () => {
    if (at + kLength > message.length) throw new WireError("a frame is cut off");
    const length = view.getUint32(at);
    at += kLength;
    if (length > message.length - at) throw new WireError("a frame is longer than its message");
    at += length;
    return message.subarray(at - length, at);
  };
  while (at < message.length) {
    const header = part();
    frames.push({ header: parsed(header), body: part() });
    if (frames.length > kMostFrames) throw new WireError("a message has too many frames");
  }
  return frames;
}

function parsed(header: Uint8Array): unknown {
  try {
    return JSON.parse(decoder.decode(header));
  } catch (cause) {
    throw new WireError("a header is no JSON", { cause });
  }
}

const kPieceHeader = v.object({
  t: v.literal("piece"),
  from: v.pipe(v.string(), v.maxLength(200)),
  piece: v.number(),
  at: v.pipe(v.number(), v.integer(), v.minValue(0)),
  isLast: v.boolean(),
});

/** Frames that are there in part, of all senders; those that wait longest give way, as their senders may be gone. */
const kMostPartial = 64;
const kMostPartialBytes = 64 * 1024 ** 2;

type Partial = { piece: number; bytes: number; parts: Uint8Array[] };

/**
 * What others have said: takes messages apart, and puts together what came in pieces. Bounded, whatever is sent.
 */
export class Inbox {
  readonly #partial = new Map<string, Partial>();

  /**
   * Gives `take` each frame that is whole now, in order, and `refused` why one was none, or nothing for whoever takes
   * them: what came with it in one message is not lost with it, as where it is of a version that is newer.
   */
  receive(
    message: Uint8Array,
    take: (frame: Frame) => void,
    refused: (why: WireError) => void,
  ): void {
    const each = (work: () => void) => {
      try {
        work();
      } catch (error) {
        if (!(error instanceof WireError)) throw error;
        refused(error);
      }
    };
    each(() => {
      for (const frame of decodeFrames(message)) each(() => this.#take(frame, take));
    });
  }

  #take(frame: Frame, take: (frame: Frame) => void): void {
    if ((frame.header as { t?: unknown } | null)?.t !== "piece") {
      take(frame);
      return;
    }
    const whole = this.#add(frame);
    if (whole !== undefined) for (const each of decodeFrames(whole)) take(each);
  }

  #add({ header, body }: Frame): Uint8Array | undefined {
    const { success, output } = v.safeParse(kPieceHeader, header);
    if (!success) throw new WireError("a piece of a frame is none");
    const { from, piece, at, isLast } = output;
    const before = this.#partial.get(from);
    this.#partial.delete(from);
    if (at > 0 && before?.piece !== piece) {
      throw new WireError("a piece of a frame is not the next one");
    }
    const partial = at === 0 || before === undefined ? { piece, bytes: 0, parts: [] } : before;
    if (partial.bytes !== at) throw new WireError("a piece of a frame is missing");
    if (at + body.length > kMostFrameBytes) throw new WireError("a frame is too long");
    partial.parts.push(body);
    partial.bytes += body.length;
    if (isLast) return Buffer.concat(partial.parts);
    this.#partial.set(from, partial);
    this.#dropOldest();
    return undefined;
  }

  #dropOldest(): void {
    let bytes = 0;
    for (const partial of this.#partial.values()) bytes += partial.bytes;
    for (const [from, partial] of this.#partial) {
      if (this.#partial.size <= kMostPartial && bytes <= kMostPartialBytes) return;
      this.#partial.delete(from);
      bytes -= partial.bytes;
    }
  }
}

/** Sends one message; `reply` is where the broker says that it has reached nobody. */
export type Publish = (subject: string, message: Uint8Array, reply?: string) => void;

/**
 * A message is not made longer by another frame than this. A receiver reads 64 KiB at once: of a message that goes
 * beyond, the client makes copies, and to collect these costs more than more messages do.
 */
const kMostTogether = 16 * 1024;
/** A frame that is longer is sent in pieces; the broker's default limit is 1 MiB. */
const kPiece = 256 * 1024;

/** Makes the reply of one message, when it is sent. */
type Reply = (() => string) | undefined;
type Waiting = { reply: Reply; parts: Uint8Array[]; bytes: number };

function lengthOf(frame: readonly Uint8Array[]): number {
  return frame.reduce((sum, { length }) => sum + length, 0);
}

/**
 * What is said to others: all that goes to one subject within a turn of the event loop is one message. A frame
 * that is too long for a message goes in pieces, which nothing comes between. Belongs to one connection.
 */
export class Outbox {
  readonly #from: string;
  readonly #publish: Publish;
  readonly #waiting = new Map<string, Waiting>();
  #isScheduled = false;
  #pieces = 0;

  /** @param from who says it: pieces of one sender belong together. */
  constructor(from: string, publish: Publish) {
    this.#from = from;
    this.#publish = publish;
  }

  /** One subject has one `reply`. False: it is longer than a frame may be, and nothing is sent. */
  send(subject: string, header: Header, body?: Uint8Array, reply?: Reply): boolean {
    const frame = encodeFrame(header, body);
    const length = lengthOf(frame);
    if (length > kMostFrameBytes) return false;
    if (length > kPiece) this.#sendPieces(subject, Buffer.concat(frame), reply);
    else this.#add(subject, frame, reply);
    return true;
  }

  /** Sends what waits, now. */
  flush(): void {
    for (const subject of [...this.#waiting.keys()]) this.#flush(subject);
  }

  #add(subject: string, frame: Uint8Array[], reply: Reply): void {
    const length = lengthOf(frame);
    const before = this.#waiting.get(subject);
    if (before !== undefined && before.bytes + length > kMostTogether) this.#flush(subject);
    const waiting = this.#waiting.get(subject) ?? { reply, parts: [], bytes: 0 };
    waiting.parts.push(...frame);
    waiting.bytes += length;
    this.#waiting.set(subject, waiting);
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    setImmediate(() => {
      this.#isScheduled = false;
      this.flush();
    });
  }

  #sendPieces(subject: string, frame: Buffer, reply: Reply): void {
    const piece = ++this.#pieces;
    for (let at = 0; at < frame.length; at += kPiece) {
      const isLast = at + kPiece >= frame.length;
      const bytes = frame.subarray(at, at + kPiece);
      const header = { t: "piece", from: this.#from, piece, at, isLast };
      this.#add(subject, encodeFrame(header, bytes), reply);
      this.#flush(subject);
    }
  }

  #flush(subject: string): void {
    const waiting = this.#waiting.get(subject);
    if (waiting === undefined) return;
    this.#waiting.delete(subject);
    this.#publish(subject, Buffer.concat(waiting.parts, waiting.bytes), waiting.reply?.());
  }
}
