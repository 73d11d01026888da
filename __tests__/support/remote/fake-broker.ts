/**
 * As much of a NATS server as the package uses, in this process: subjects with wildcards, queue groups, permissions, and
 * the notice that a message has reached nobody. It can freeze, as a process that is stopped does.
 */

import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { createServer, type Server, type Socket } from "node:net";

type Subscription = { subject: string; queue: string | undefined; id: string };
type Client = { socket: Socket; subscriptions: Map<string, Subscription>; unread: Buffer };
/** What no client may do, by subject; wildcards match tokens. */
export type Denied = { publish?: readonly string[]; subscribe?: readonly string[] };

function matches(pattern: string, subject: string): boolean {
  const wanted = pattern.split(".");
  const tokens = subject.split(".");
  const end = wanted.indexOf(">");
  if (end >= 0)
    return (
      tokens.length > end && matches(wanted.slice(0, end).join("."), tokens.slice(0, end).join("."))
    );
  return (
    wanted.length === tokens.length &&
    wanted.every((each, at) => each === "*" || each === tokens[at])
  );
}

export class FakeBroker {
  readonly #server: Server;
  readonly #clients = new Set<Client>();
  readonly #denied: Denied;
  #isFrozen = false;
  /** Milliseconds by which an answer to a ping is late. */
  pongAfterMs = 0;

  private constructor(denied: Denied) {
    this.#denied = denied;
    this.#server = createServer((socket) => this.#connected(socket));
  }

  static async open(denied: Denied = {}): Promise<FakeBroker> {
    const broker = new FakeBroker(denied);
    broker.#server.listen(0, "127.0.0.1");
    await once(broker.#server, "listening");
    broker.#server.unref();
    return broker;
  }

  get url(): string {
    return `nats://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  get clients(): number {
    return this.#clients.size;
  }

  /** Reads and answers nothing more, and keeps all connections. */
  freeze(): void {
    this.#isFrozen = true;
  }

  /** Sends every client one more part of a long message to its first subscription. */
  trickle(isFirst: boolean): void {
    const begin = isFirst ? `MSG long 1 ${1024 ** 2}\r\n` : "";
    for (const { socket } of this.#clients) socket.write(`${begin}part`);
  }

  async close(): Promise<void> {
    const closed = once(this.#server, "close");
    this.#server.close();
    for (const { socket } of this.#clients) socket.destroy();
    await closed;
  }

  #connected(socket: Socket): void {
    const client = { socket, subscriptions: new Map(), unread: Buffer.alloc(0) };
    this.#clients.add(client);
    socket.unref(); // what keeps the process alive is the client's own end
    socket.on("error", () => {});
    socket.on("close", () => this.#clients.delete(client));
    socket.on("data", (bytes) => this.#read(client, bytes));
    if (this.#isFrozen) return;
    const info = {
      server_id: "fake",
      version: "2.10.0",
      proto: 1,
      headers: true,
      max_payload: 1024 ** 2,
    };
    socket.write(`INFO ${JSON.stringify(info)}\r\n`);
  }

  #read(client: Client, bytes: Buffer): void {
    if (this.#isFrozen) return;
    client.unread = Buffer.concat([client.unread, bytes]);
    for (;;) {
      const end = client.unread.indexOf("\r\n");
      if (end < 0) return;
      const line = client.unread.subarray(0, end).toString();
      const words = line.split(" ");
      if (words[0] !== "PUB") {
        client.unread = client.unread.subarray(end + 2);
        this.#control(client, words);
        continue;
      }
      const length = Number(words.at(-1));
      const whole = end + 2 + length + 2;
      if (client.unread.length < whole) return;
      const data = Buffer.from(client.unread.subarray(end + 2, end + 2 + length));
      client.unread = client.unread.subarray(whole);
      this.#publish(client, words[1] ?? "", words.length > 3 ? words[2] : undefined, data);
    }
  }

  #control(client: Client, words: string[]): void {
    const { socket, subscriptions } = client;
    if (words[0] === "PING") {
      const pong = () => void (this.#isFrozen || socket.write("PONG\r\n"));
      if (this.pongAfterMs > 0) setTimeout(pong, this.pongAfterMs);
      else pong();
    } else if (words[0] === "SUB") {
      const [subject = "", queue] = words.length > 3 ? words.slice(1) : [words[1]];
      const id = words.at(-1) ?? "";
      if (this.#denied.subscribe?.some((each) => matches(each, subject))) {
        const using = queue === undefined ? "" : ` using queue "${queue}"`;
        socket.write(`-ERR 'Permissions Violation for Subscription to "${subject}"${using}'\r\n`);
      } else subscriptions.set(id, { subject, queue, id });
    } else if (words[0] === "UNSUB") subscriptions.delete(words[1] ?? "");
  }

  #publish(from: Client, subject: string, reply: string | undefined, data: Buffer): void {
    if (this.#denied.publish?.some((each) => matches(each, subject))) {
      from.socket.write(`-ERR 'Permissions Violation for Publish to "${subject}"'\r\n`);
      return;
    }
    const groups = new Set<string>();
    let count = 0;
    for (const client of this.#clients) {
      for (const { subject: pattern, queue, id } of client.subscriptions.values()) {
        if (!matches(pattern, subject) || (queue !== undefined && groups.has(queue))) continue;
        if (queue !== undefined) groups.add(queue);
        count += 1;
        const to = reply === undefined ? "" : ` ${reply}`;
        client.socket.write(`MSG ${subject} ${id}${to} ${data.length}\r\n`);
        client.socket.write(Buffer.concat([data, Buffer.from("\r\n")]));
      }
    }
    if (count > 0 || reply === undefined) return;
    const headers = "NATS/1.0 503\r\n\r\n";
    for (const { subject: pattern, id } of from.subscriptions.values()) {
      if (!matches(pattern, reply)) continue;
      from.socket.write(
        `HMSG ${reply} ${id} ${headers.length} ${headers.length}\r\n${headers}\r\n`,
      );
    }
  }
}
