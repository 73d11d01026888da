/** What both sides say of one run while it goes on: all of it, in order, each once, whatever the broker makes of it. */

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
