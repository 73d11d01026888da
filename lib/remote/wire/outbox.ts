import { encodeFrame, type Header, kMostFrameBytes } from "./frame.js";

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
