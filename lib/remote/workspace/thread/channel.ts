/** Messages between the host's JavaScript thread and the files thread, besides calls. */

import type { MessagePort } from "node:worker_threads";

import type { Change } from "../../../../types/transaction.js";
import type { ExchangePort, Message } from "../exchange.js";

type Asked = { send: Message } | { receive: true };
type Answer = { value: Message | undefined } | { error: string };

const reasonOf = (error: unknown) => (error instanceof Error ? error.message : String(error));

/** On the host's thread: sends and receives on `port` for the files thread. */
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

/** Sends one request at a time, and waits for its answer. */
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

/** On the files thread: a port whose messages pass through the host's thread. */
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

/** On the host's thread: passes received bytes to `write`, one piece at a time. */
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

/** On the files thread: returns a function that sends bytes to the host's thread, which writes them. */
export function bytesTo(channel: MessagePort): (bytes: Uint8Array) => Promise<void> {
  const questions = new Questions(channel);
  return async (bytes) => {
    await questions.ask(bytes);
  };
}

/** The fields of a transaction's change that are needed to move it. */
export type ReportedChange = Pick<Change, "path" | "kind" | "type" | "from" | "mode" | "target">;

/** Returns changes reduced to the fields that pass cheaply between threads. */
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
