import type { ExchangePort, Message } from "../workspace/exchange.js";

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
