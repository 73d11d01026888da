/** Two ends of an exchange in one process; messages go through JSON, as on a wire, and may be cut. */

import type { ExchangePort, Message } from "../../../lib/remote/workspace/exchange.js";

type Waiting = { resolve: (message: Message) => void; reject: (error: Error) => void };

/** What holds messages on their way to one end; the sender waits where there are many. */
class Lane {
  readonly #messages: Message[] = [];
  readonly #waiting: Waiting[] = [];
  readonly #full: (() => void)[] = [];
  #cut: Error | undefined;

  async put(message: Message): Promise<void> {
    const kMostWaiting = 4;
    if (this.#cut) throw this.#cut;
    const copy = {
      header: JSON.parse(JSON.stringify(message.header)) as unknown,
      body: Uint8Array.from(message.body),
    };
    const waiting = this.#waiting.shift();
    if (waiting) waiting.resolve(copy);
    else this.#messages.push(copy);
    while (this.#messages.length > kMostWaiting && !this.#cut) {
      await new Promise<void>((resolve) => this.#full.push(resolve));
    }
  }

  async take(): Promise<Message> {
    const message = this.#messages.shift();
    this.#full.shift()?.();
    if (message) return message;
    if (this.#cut) throw this.#cut;
    return new Promise((resolve, reject) => this.#waiting.push({ resolve, reject }));
  }

  cut(): void {
    this.#cut = new Error("cut");
    for (const { reject } of this.#waiting.splice(0)) reject(this.#cut);
    for (const each of this.#full.splice(0)) each();
  }
}

export type PortPair = {
  caller: ExchangePort;
  worker: ExchangePort;
  /** How many messages were sent. */
  sent(): number;
  cut(): void;
};

/** @param cutAfter the message that is the last one to arrive. */
export function portPair(cutAfter = Number.POSITIVE_INFINITY): PortPair {
  const toWorker = new Lane();
  const toCaller = new Lane();
  let count = 0;
  const cut = () => {
    toWorker.cut();
    toCaller.cut();
  };
  const port = (to: Lane, from: Lane): ExchangePort => ({
    send: async (message) => {
      if (count >= cutAfter) cut();
      count += 1;
      await to.put(message);
    },
    receive: () => from.take(),
  });
  const caller = port(toWorker, toCaller);
  const worker = port(toCaller, toWorker);
  return { caller, worker, sent: () => count, cut };
}
