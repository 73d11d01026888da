/** What both sides say of one run while it goes on: all of it, in order, each once, whatever the broker makes of it. */

import type { ExchangePort, Message } from "../workspace/exchange.js";
import { fromPlain, toPlain } from "./plain.js";

/** The number of a message, and how many of the other side's have come. */
export type Numbered = { seq: number; ack: number };

/** How many of a run's messages have come. */
export type Receipt = readonly [run: number, ack: number];

type Sent<Message> = { seq: number; at: number; message: Message; body: Uint8Array | undefined };

/** What comes before its turn is kept up to this; what is beyond will come again. */
const kMostEarly = 1_024;
const kMostEarlyBytes = 8 * 1024 ** 2;

/**
 * One end of it. What was said is kept until the other side has it, and said again once it is known to be lost: a
 * broker carries what one says to another in order, so that whoever answers a later sign of life has had it, or won't.
 * Kept is at most what the run's credit lets be on its way. Times are of any steady clock. Pure.
 */
export class Channel<Said, Heard> {
  readonly #say: (message: Said & Numbered, body?: Uint8Array) => void;
  readonly #hear: (message: Heard, body: Uint8Array) => void;
  readonly #early = new Map<number, { message: Heard; body: Uint8Array }>();
  #unconfirmed: Sent<Said>[] = [];
  #sent = 0;
  #heard = 0;
  #earlyBytes = 0;

  /**
   * @param say sends.
   * @param hear is given all that the other side has said, in order.
   */
  constructor(
    say: (message: Said & Numbered, body?: Uint8Array) => void,
    hear: (message: Heard, body: Uint8Array) => void,
  ) {
    this.#say = say;
    this.#hear = hear;
  }

  /** How many messages of the other side have come, without a gap. */
  get heard(): number {
    return this.#heard;
  }

  say(message: Said, body: Uint8Array | undefined, now: number): void {
    const seq = ++this.#sent;
    this.#unconfirmed.push({ seq, at: now, message, body });
    this.#say({ ...message, seq, ack: this.#heard }, body);
  }

  receive({ seq, ack }: Numbered, message: Heard, body: Uint8Array): void {
    this.confirmed(ack);
    if (seq <= this.#heard || this.#early.has(seq)) return;
    if (seq > this.#heard + 1) {
      const isTooMuch = this.#earlyBytes + body.length > kMostEarlyBytes;
      if (isTooMuch || this.#early.size >= kMostEarly) return;
      this.#early.set(seq, { message, body });
      this.#earlyBytes += body.length;
      return;
    }
    this.#next(message, body);
    for (
      let next = this.#early.get(this.#heard + 1);
      next;
      next = this.#early.get(this.#heard + 1)
    ) {
      this.#early.delete(this.#heard + 1);
      this.#earlyBytes -= next.body.length;
      this.#next(next.message, next.body);
    }
  }

  /** The other side has so many of ours. */
  confirmed(ack: number): void {
    let count = 0;
    for (const { seq } of this.#unconfirmed) {
      if (seq > ack) break;
      count += 1;
    }
    if (count > 0) this.#unconfirmed = this.#unconfirmed.slice(count);
  }

  /** The other side has answered what was said after `at`: what was said before, and has not come, is said again. */
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

/** Messages that may be on their way, each of at most 192 KiB. */
const kWindow = 8;

/** Sends one, and says that some were taken. */
export type PortSender = {
  send(header: unknown, body: Uint8Array): void;
  taken(count: number): void;
};

/** What carries a workspace's messages over the wire, for one attempt at a run. One side of it. */
export class WirePort implements ExchangePort {
  readonly #sender: PortSender;
  readonly #received: Message[] = [];
  #room = kWindow;
  #taken = 0;
  #isCut: Error | undefined;
  #moved = () => {};

  constructor(sender: PortSender) {
    this.#sender = sender;
  }

  async send({ header, body }: Message): Promise<void> {
    await this.#until(() => this.#room > 0);
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

  /** The other side has sent one. It is copied: the message that it came in is the client's. */
  deliver(header: unknown, body: Uint8Array): void {
    this.#received.push({ header, body: Uint8Array.from(body) });
    this.#moved();
  }

  /** The other side has taken some. */
  granted(count: number): void {
    this.#room += count;
    this.#moved();
  }

  /** Nothing goes or comes any more. */
  cut(reason: string): void {
    this.#isCut ??= new Error(reason);
    this.#moved();
  }

  async #until(isSo: () => boolean): Promise<void> {
    while (!isSo()) {
      if (this.#isCut) throw this.#isCut;
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
}

/**
 * Answers of any length: one that is too long for a frame is kept by who gives it, and asked for piece by piece.
 */

/** Characters of JSON in one piece. Each may be three bytes of UTF-8; a frame has 16 MiB. */
const kPiece = 4 * 1024 ** 2;
/** Characters of what is asked for; as above. */
const kMostAsked = 4 * 1024 ** 2;
/** Answers that are kept, for callers that ask for several at once. */
const kMostKept = 4;

/** The operation by which pieces are asked for. */
export const kPieceOperation = "piece";

type Whole = { whole: unknown };
type InPieces = { answer: number; pieces: number };

/** Those of one run. */
export class LongAnswers {
  readonly #kept = new Map<number, string>();
  #answers = 0;

  /** What is answered. */
  answer(value: unknown): Whole | InPieces {
    const whole = value === undefined ? null : toPlain(value, "answer");
    const text = JSON.stringify(whole);
    if (text.length <= kPiece) return { whole };
    const answer = ++this.#answers;
    this.#kept.set(answer, text);
    for (const [oldest] of this.#kept) if (this.#kept.size > kMostKept) this.#kept.delete(oldest);
    return { answer, pieces: Math.ceil(text.length / kPiece) };
  }

  /** One piece; with the last it is forgotten. @throws TypeError where there is none */
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

/** An operation of the other side. */
export type Ask = (operation: string, args: readonly unknown[]) => Promise<unknown>;

/** Asks for an operation, and for all pieces of its answer. @throws RangeError for what is too long to be sent */
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
