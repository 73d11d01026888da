/** What goes between the host's JavaScript thread and the one that works on files, besides calls. */

import type { MessagePort } from "node:worker_threads";

import type { Change } from "../../../../types/transaction.js";
import type { ExchangePort, Message } from "../exchange.js";

type Asked = { send: Message } | { receive: true };
type Answer = { value: Message | undefined } | { error: string };

const reasonOf = (error: unknown) => (error instanceof Error ? error.message : String(error));

/** On the host's thread: does with `port` what the other thread asks for. */
export function serveExchange(port: ExchangePort, channel: MessagePort): void {
  const answer = async (asked: Asked): Promise<Answer> => {
    try {
      if ("receive" in asked) return { value: await port.receive() };
      await port.send(asked.send);
      return { value: undefined };
    } catch (error) {
      return { error: reasonOf(error) };
    }
  };
  channel.on("message", (asked: Asked) => {
    void answer(asked).then((answered) => channel.postMessage(answered));
  });
  channel.unref();
}

/** One question after the other, each with its answer. */
class Questions {
  readonly #channel: MessagePort;
  #waiting: { resolve: (answer: Answer) => void; reject: (error: Error) => void } | undefined;

  constructor(channel: MessagePort) {
    this.#channel = channel;
    channel.on("message", (answer: Answer) => this.#settle()?.resolve(answer));
    channel.on("close", () => this.#settle()?.reject(new Error("the other thread has ended it")));
  }

  #settle() {
    const waiting = this.#waiting;
    this.#waiting = undefined;
    return waiting;
  }

  async ask(question: unknown): Promise<Message | undefined> {
    const answer = await new Promise<Answer>((resolve, reject) => {
      this.#waiting = { resolve, reject };
      this.#channel.postMessage(question);
    });
    if ("error" in answer) throw new Error(answer.error);
    return answer.value;
  }
}

/** On the other thread: a port whose messages go by way of the host's. */
export class ChannelPort implements ExchangePort {
  readonly #questions: Questions;

  constructor(channel: MessagePort) {
    this.#questions = new Questions(channel);
  }

  async send(message: Message): Promise<void> {
    const asked: Asked = { send: message };
    await this.#questions.ask(asked);
  }

  async receive(): Promise<Message> {
    const asked: Asked = { receive: true };
    const message = await this.#questions.ask(asked);
    if (message === undefined) throw new Error("there is no message");
    return message;
  }
}

/** On the host's thread: gives what comes to `write`, one after the other. */
export function serveBytes(
  write: (bytes: Uint8Array) => Promise<void>,
  channel: MessagePort,
): void {
  channel.on("message", (bytes: Uint8Array) => {
    write(bytes).then(
      () => channel.postMessage({ value: undefined }),
      (error: unknown) => channel.postMessage({ error: reasonOf(error) }),
    );
  });
  channel.unref();
}

/** On the other thread: where bytes go that the host's writes. */
export function bytesTo(channel: MessagePort): (bytes: Uint8Array) => Promise<void> {
  const questions = new Questions(channel);
  return async (bytes) => {
    await questions.ask(bytes);
  };
}

/** What is asked of a transaction's change to move it. */
export type ReportedChange = Pick<Change, "path" | "kind" | "type" | "from" | "mode" | "target">;

/** What of the changes can cross a thread's border cheaply. */
export function reportedChanges(changes: readonly Change[]): ReportedChange[] {
  return changes.map(({ path, kind, type, from, mode, target }) => ({
    path,
    kind,
    type,
    mode,
    ...(from !== undefined && { from }),
    ...(target !== undefined && { target }),
  }));
}
