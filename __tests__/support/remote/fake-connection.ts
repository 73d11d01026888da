/** A connection whose other end is the test: what is sent is kept, and what is to come is handed in. */

import type { Connection, Listener, Received } from "../../../lib/remote/broker/connection.js";
import { encodeFrame, Inbox } from "../../../lib/remote/wire/frame.js";
import { framesOf } from "./frames-of.js";

type Sent = { subject: string; header: Record<string, unknown>; body: Uint8Array; reply?: string };
type Subscription = {
  subject: string;
  queue: string | undefined;
  receive: (message: Received) => void;
};

function matches(pattern: string, subject: string): boolean {
  const [wanted, tokens] = [pattern.split("."), subject.split(".")];
  if (wanted.at(-1) === ">") {
    return (
      tokens.length >= wanted.length &&
      wanted.slice(0, -1).every((each, at) => each === "*" || each === tokens[at])
    );
  }
  return (
    wanted.length === tokens.length &&
    wanted.every((each, at) => each === "*" || each === tokens[at])
  );
}

export class FakeConnection {
  isConnected = true;
  failure: Error | undefined;
  readonly sent: Sent[] = [];
  readonly subscriptions = new Set<Subscription>();
  readonly #listeners = new Set<Listener>();
  readonly #inbox = new Inbox();

  /** As the type that callers and workers take. */
  get asConnection(): Connection {
    return this as unknown as Connection;
  }

  listen(listener: Listener): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  async open(): Promise<void> {
    for (const listener of this.#listeners) listener.connected?.(true);
  }

  publish(subject: string, data: Uint8Array, reply?: string): void {
    for (const { header, body } of framesOf(this.#inbox, data)) {
      const of = header as Record<string, unknown>;
      this.sent.push({ subject, header: of, body, ...(reply !== undefined && { reply }) });
    }
  }

  subscribe(subject: string, receive: (message: Received) => void, queue?: string): () => void {
    const own = { subject, receive, queue };
    this.subscriptions.add(own);
    return () => void this.subscriptions.delete(own);
  }

  use(): void {}
  unuse(): void {}
  hold(): void {}
  release(): void {}
  async close(): Promise<void> {}

  /** Tells its listeners of a state. */
  tell(what: (listener: Listener) => void): void {
    for (const listener of this.#listeners) what(listener);
  }

  /** A message arrives; returns the number of subscribers that had it. */
  deliver(subject: string, header: { t: string }, body?: Uint8Array): number {
    const data = Buffer.concat(encodeFrame(header, body));
    const to = [...this.subscriptions].filter((each) => matches(each.subject, subject));
    for (const { receive } of to) receive({ subject, data, isNobody: false });
    return to.length;
  }

  /** What was sent of one kind. */
  all(t: string): Sent[] {
    return this.sent.filter(({ header }) => header.t === t);
  }
}
