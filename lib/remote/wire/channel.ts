/** Channels between both sides of a run: all messages arrive, in order and once, even if the broker loses some. */

import { Changes } from "../deferred.js";
import { type ExchangePort, kMostBody, type Message } from "../workspace/exchange.js";
import { fromPlain, toPlain } from "./plain.js";

/** The number of a message, and how many messages of the other side were received. */
export type Numbered = { seq: number; ack: number };

/** How many messages of a run were received. */
export type Receipt = readonly [run: number, ack: number];

type Sent<Message> = { seq: number; at: number; message: Message; body: Uint8Array | undefined };

/** Messages that arrive early are kept up to these limits; further ones are dropped and will be repeated. */
const kMostEarly = 1_024;
const kMostEarlyBytes = 4 * 1024 ** 2;
/** A copy of bytes that would keep a much longer message. */
function compact(body: Uint8Array): Uint8Array {
  return body.length * 2 < body.buffer.byteLength ? Uint8Array.from(body) : body;
}

/**
 * One end of a channel. Sent messages are kept until confirmed, and sent again once they are known to be lost: a broker
 * delivers messages from one client to another in order, so a side that answers a later sign of life has received
 * earlier messages, or never will. The run's credit bounds what is kept. Times are of any steady clock. Pure.
 */
export class Channel<Said, Heard> {
  readonly #say: (message: Said & Numbered, body?: Uint8Array) => void;
  readonly #hear: (message: Heard, body: Uint8Array) => void;
  readonly #early = new Map<number, { message: Heard; body: Uint8Array; size: number }>();
  #unconfirmed: Sent<Said>[] = [];
  #sent = 0;
  #heard = 0;
  #earlyBytes = 0;
  #unconfirmedBytes = 0;

  /**
   * @param say sends a message
   * @param hear receives all messages of the other side, in order
   */
  constructor(
    say: (message: Said & Numbered, body?: Uint8Array) => void,
    hear: (message: Heard, body: Uint8Array) => void,
  ) {
    this.#say = say;
    this.#hear = hear;
  }

  /** How many messages of the other side were received without a gap. */
  get heard(): number {
    return this.#heard;
  }

  /** True once the other side has said something, or has confirmed something that this side has said. */
  get isUsed(): boolean {
    const hasHeard = this.#heard > 0 || this.#early.size > 0;
    return hasHeard || this.#unconfirmed.length < this.#sent;
  }

  /** Messages, and bytes of their bodies, that are kept since the other side has not confirmed them. */
  get unconfirmed(): { messages: number; bytes: number } {
    return { messages: this.#unconfirmed.length, bytes: this.#unconfirmedBytes };
  }

  say(message: Said, body: Uint8Array | undefined, now: number): void {
    const seq = ++this.#sent;
    this.#unconfirmedBytes += body?.length ?? 0;
    this.#unconfirmed.push({ seq, at: now, message, body });
    this.#say({ ...message, seq, ack: this.#heard }, body);
  }

  /** @param size bytes of the whole message */
  receive({ seq, ack }: Numbered, message: Heard, body: Uint8Array, size = body.length): void {
    this.confirmed(ack);
    if (seq <= this.#heard || this.#early.has(seq)) return;
    if (seq > this.#heard + 1) {
      const isTooMuch = this.#earlyBytes + size > kMostEarlyBytes;
      if (isTooMuch || this.#early.size >= kMostEarly) return;
      this.#early.set(seq, { message, body: compact(body), size });
      this.#earlyBytes += size;
      return;
    }
    this.#next(message, body);
    for (
      let next = this.#early.get(this.#heard + 1);
      next;
      next = this.#early.get(this.#heard + 1)
    ) {
      this.#early.delete(this.#heard + 1);
      this.#earlyBytes -= next.size;
      this.#next(next.message, next.body);
    }
  }

  /** Drops kept messages that the other side has received. */
  confirmed(ack: number): void {
    let count = 0;
    for (const { seq, body } of this.#unconfirmed) {
      if (seq > ack) break;
      count += 1;
      this.#unconfirmedBytes -= body?.length ?? 0;
    }
    if (count > 0) this.#unconfirmed = this.#unconfirmed.slice(count);
  }

  /**
   * Sends unconfirmed messages again that were sent before `at`: the other side has answered a message sent at that
   * time.
   */
  repeat(at: number, now: number): void {
    for (const sent of this.#unconfirmed) {
      if (sent.at >= at) return;
      sent.at = now;
      this.#say({ ...sent.message, seq: sent.seq, ack: this.#heard }, sent.body);
    }
  }

  #next(message: Heard, body: Uint8Array): void {
    this.#heard += 1;
    this.#hear(message, body);
  }
}

/** Most messages in transit, each of at most 192 KiB. */
const kWindow = 8;

/** True for a message that ends an exchange: the other side sends and reads nothing after it. */
function isLast(header: unknown): boolean {
  const { t } = (header ?? {}) as { t?: unknown };
  return t === "failed" || t === "verdict";
}

/** Sends messages, and reports how many were taken. */
export type PortSender = {
  send(header: unknown, body: Uint8Array): void;
  taken(count: number): void;
};

/**
 * One side of the transport of a workspace's messages, for one attempt of a run. What the other side sends beyond the
 * window, or longer than allowed, ends it.
 */
export class WirePort implements ExchangePort {
  readonly #sender: PortSender;
  readonly #stallMs: number | undefined;
  readonly #received: Message[] = [];
  #room = kWindow;
  #taken = 0;
  #isCut: Error | undefined;
  /** True once the other side has sent its last message. */
  #isOver = false;
  readonly #changes = new Changes();

  /** @param stallMs milliseconds that a wait may last before the port is cut; undefined: for ever */
  constructor(sender: PortSender, stallMs?: number) {
    this.#sender = sender;
    this.#stallMs = stallMs;
  }

  /** Waits for room, but for a last message: the other side may read no others any more. */
  async send({ header, body }: Message): Promise<void> {
    if (isLast(header)) {
      if (this.#isCut) throw this.#isCut;
    } else {
      await this.#until(() => this.#room > 0 || this.#isOver);
      if (this.#isOver) throw new Error("the other side has ended it");
    }
    this.#room -= 1;
    this.#sender.send(header, body);
  }

  async receive(): Promise<Message> {
    await this.#until(() => this.#received.length > 0);
    const message = this.#received.shift();
    if (message === undefined) throw new Error("two read from one port");
    this.#taken += 1;
    if (this.#taken * 2 >= kWindow) {
      this.#sender.taken(this.#taken);
      this.#taken = 0;
    }
    return message;
  }

  /** Adds a message of the other side. The body is copied, since its buffer belongs to the client. */
  deliver(header: unknown, body: Uint8Array): void {
    if (this.#isCut) return;
    const most = isLast(header) ? kWindow + 1 : kWindow;
    if (this.#received.length >= most || body.length > kMostBody) {
      this.#received.splice(0);
      this.cut("the other side sends more than it may");
      return;
    }
    this.#isOver ||= isLast(header);
    this.#received.push({ header, body: Uint8Array.from(body) });
    this.#changes.happened();
  }

  /** Records that the other side has taken messages; never more than were sent. */
  granted(count: number): void {
    this.#room = Math.min(kWindow, this.#room + count);
    this.#changes.happened();
  }

  /** Ends the port: pending and later calls reject, once what has arrived is read. */
  cut(reason: string): void {
    this.#isCut ??= new Error(reason);
    this.#changes.happened();
  }

  async #until(isSo: () => boolean): Promise<void> {
    if (isSo()) return;
    const ms = this.#stallMs;
    const stalled = () => this.cut(`nothing came for ${ms} ms`);
    const timer = ms === undefined ? undefined : setTimeout(stalled, ms);
    timer?.unref();
    try {
      while (!isSo()) {
        if (this.#isCut) throw this.#isCut;
        await this.#changes.next();
      }
    } finally {
      clearTimeout(timer);
    }
  }
}

/**
 * Answers of any length: the answering side keeps an answer that is too long for a frame, and the other side fetches it
 * in pieces.
 */

/** Characters of JSON per piece. Each may take three bytes of UTF-8; a frame has 16 MiB. */
const kPiece = 4 * 1024 ** 2;
/** Most characters of a request; as above. */
const kMostAsked = 4 * 1024 ** 2;
/** Most kept answers, for callers with concurrent requests. */
const kMostKept = 4;

/** The operation that fetches a piece. */
export const kPieceOperation = "piece";

type Whole = { whole: unknown };
type InPieces = { answer: number; pieces: number };

/** The long answers of one run. */
export class LongAnswers {
  readonly #kept = new Map<number, string>();
  #answers = 0;

  /** Returns the answer, or the number of its pieces. */
  answer(value: unknown): Whole | InPieces {
    const whole = value === undefined ? null : toPlain(value, "answer");
    const text = JSON.stringify(whole);
    if (text.length <= kPiece) return { whole };
    const answer = ++this.#answers;
    this.#kept.set(answer, text);
    for (const [oldest] of this.#kept) if (this.#kept.size > kMostKept) this.#kept.delete(oldest);
    return { answer, pieces: Math.ceil(text.length / kPiece) };
  }

  /**
   * Returns one piece, and forgets the answer with the last one.
   * @throws TypeError if the piece does not exist
   */
  piece(answer: unknown, index: unknown): string {
    const text = this.#kept.get(Number(answer));
    const at = Number(index) * kPiece;
    if (text === undefined || !(at >= 0 && at < text.length)) {
      throw new TypeError("there is no such piece of an answer");
    }
    if (at + kPiece >= text.length) this.#kept.delete(Number(answer));
    return text.slice(at, at + kPiece);
  }
}

/** Calls an operation of the other side. */
export type Ask = (operation: string, args: readonly unknown[]) => Promise<unknown>;

/**
 * Calls an operation, and fetches all pieces of its answer.
 * @throws RangeError if the arguments are too long to be sent
 */
export async function askWhole(
  ask: Ask,
  operation: string,
  args: readonly unknown[],
): Promise<unknown> {
  const size = JSON.stringify(args.map((each) => toPlain(each ?? null, operation))).length;
  if (size > kMostAsked) {
    const message = `${operation}: what it is given has more than ${kMostAsked} bytes when it is sent`;
    throw Object.assign(new RangeError(message), { code: "ERR_OUT_OF_RANGE" });
  }
  const reported = (await ask(operation, args)) as Whole | InPieces;
  if ("whole" in reported) return reported.whole;
  let text = "";
  for (let index = 0; index < reported.pieces; index += 1) {
    text += await ask(kPieceOperation, [reported.answer, index]);
  }
  return fromPlain(JSON.parse(text));
}
