/**
 * The format of messages: one or more frames, each a header and bytes. Both lengths come first, as 32 bits in
 * big-endian order; the header is JSON. Pure.
 */

import * as v from "valibot";

/** A header is identified by `t`; see messages.ts. */
type Header = { readonly t: string };

/** A header with its bytes; `size` is the length of both, in bytes. */
export type Frame = { header: unknown; body: Uint8Array; size: number };

/** Malformed message; dropped and counted by the receiver. */
export class WireError extends Error {}

/** The most bytes of a frame: Linux limits arguments and environment to 2 MiB. */
export const kMostFrameBytes = 16 * 1024 ** 2;

const kLength = 4;
const kMostFrames = 10_000;
const kNone = new Uint8Array(0);
const decoder = new TextDecoder("utf-8", { fatal: true });

/** Returns the bytes of one frame: its head, and its body, which is not copied. */
export function encodeFrame(header: Header, body: Uint8Array = kNone): [Buffer, Uint8Array] {
  const text = JSON.stringify(header);
  const size = Buffer.byteLength(text);
  const head = Buffer.allocUnsafe(kLength + size + kLength);
  head.writeUInt32BE(size, 0);
  head.write(text, kLength);
  head.writeUInt32BE(body.length, kLength + size);
  return [head, body];
}

/**
 * Returns the frames of a message; their bodies are parts of it.
 * @throws WireError
 */
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
    const body = part();
    frames.push({ header: parsed(header), body, size: header.length + body.length });
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

/** Most incomplete frames of all senders. The oldest are dropped first, as their senders may be gone. */
const kMostPartial = 64;
const kMostPartialBytes = 64 * 1024 ** 2;

type Partial = { piece: number; bytes: number; parts: Uint8Array[] };

/** Decodes received messages, and joins frames that arrive in pieces. Its memory is bounded, whatever is sent. */
export class Inbox {
  readonly #partial = new Map<string, Partial>();
  readonly #mostBytes: number;

  /** @param mostBytes most bytes of incomplete frames */
  constructor(mostBytes = kMostPartialBytes) {
    this.#mostBytes = mostBytes;
  }

  /**
   * Passes each complete frame to `take`, in order, and each error to `refused`: a frame that is malformed, or unknown
   * to `take`, such as one of a newer version. Other frames of the same message are not lost.
   *
   * @param sender the sender, if it is known: pieces of one are no part of another's frame
   */
  receive(
    message: Uint8Array,
    take: (frame: Frame) => void,
    refused: (why: WireError) => void,
    sender = "",
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
      for (const frame of decodeFrames(message)) each(() => this.#take(frame, take, sender));
    });
  }

  #take(frame: Frame, take: (frame: Frame) => void, sender: string): void {
    if ((frame.header as { t?: unknown } | null)?.t !== "piece") {
      take(frame);
      return;
    }
    const whole = this.#add(frame, sender);
    if (whole !== undefined) for (const each of decodeFrames(whole)) take(each);
  }

  #add({ header, body }: Frame, sender: string): Uint8Array | undefined {
    const { success, output } = v.safeParse(kPieceHeader, header);
    if (!success) throw new WireError("a piece of a frame is none");
    const { piece, at, isLast } = output;
    const from = `${sender} ${output.from}`;
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
      if (this.#partial.size <= kMostPartial && bytes <= this.#mostBytes) return;
      this.#partial.delete(from);
      bytes -= partial.bytes;
    }
  }
}

/** Sends one message; `reply` is the subject on which the broker reports that no process received it. */
export type Publish = (subject: string, message: Uint8Array, reply?: string) => void;

/**
 * A frame is not added to a message beyond this size. A receiver reads 64 KiB at once; the client copies a message that
 * exceeds this, and collecting the copies costs more than more messages do.
 */
const kMostTogether = 16 * 1024;
/** Longer frames are sent in pieces; the broker's default limit is 1 MiB. */
const kPiece = 256 * 1024;

/** Returns the reply subject of one message at the time it is sent. */
type Reply = (() => string) | undefined;
type Waiting = { reply: Reply; parts: Uint8Array[]; bytes: number };

function lengthOf(frame: readonly Uint8Array[]): number {
  return frame.reduce((sum, { length }) => sum + length, 0);
}

/**
 * Sends messages. All frames to one subject within a turn of the event loop form one message. A frame that is too long
 * for a message is sent in consecutive pieces. Belongs to one connection.
 */
export class Outbox {
  readonly #from: string;
  readonly #publish: Publish;
  readonly #waiting = new Map<string, Waiting>();
  #isScheduled = false;
  #pieces = 0;

  /** @param from the sender: pieces of one sender belong together */
  constructor(from: string, publish: Publish) {
    this.#from = from;
    this.#publish = publish;
  }

  /**
   * Queues a frame. All frames of a subject share one `reply`. Returns false, and sends nothing, if the frame is too
   * long.
   */
  send(subject: string, header: Header, body?: Uint8Array, reply?: Reply): boolean {
    const frame = encodeFrame(header, body);
    const length = lengthOf(frame);
    if (length > kMostFrameBytes) return false;
    if (length > kPiece) this.#sendPieces(subject, Buffer.concat(frame), reply);
    else this.#add(subject, frame, reply);
    return true;
  }

  /** Sends all queued frames now. */
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
