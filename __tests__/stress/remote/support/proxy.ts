/**
 * Between a client and the broker: doubles messages of ours and changes their order, at random and bounded. Speaks as
 * much of the NATS protocol as tells where a message begins and ends.
 */

import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Server, type Socket } from "node:net";

import type { Random } from "./rounds.js";

/** Of all messages. */
export type Disorder = { doubled: number; late: number };

const kMostHeldMs = 40;
const kMostBuffered = 64 * 1024 ** 2;
const kOurs = /^(PUB|HPUB|MSG|HMSG) nr1\./;
const kLine = Buffer.from("\r\n");

/** Cuts a stream into what the protocol has: lines, and messages with their payload. */
class Frames {
  #rest: Buffer = Buffer.alloc(0);

  add(bytes: Buffer): { bytes: Buffer; isOurs: boolean }[] {
    this.#rest = Buffer.concat([this.#rest, bytes]);
    if (this.#rest.length > kMostBuffered) throw new Error("a message is too long for the proxy");
    const all: { bytes: Buffer; isOurs: boolean }[] = [];
    for (;;) {
      const end = this.#rest.indexOf(kLine);
      if (end < 0) return all;
      const line = this.#rest.toString("latin1", 0, end);
      const hasPayload = /^H?(PUB|MSG) /.test(line);
      const payload = hasPayload ? Number(line.slice(line.lastIndexOf(" ") + 1)) + 2 : 0;
      const length = end + 2 + payload;
      if (this.#rest.length < length) return all;
      all.push({ bytes: this.#rest.subarray(0, length), isOurs: kOurs.test(line) });
      this.#rest = this.#rest.subarray(length);
    }
  }
}

/** What it has done. */
export type ProxyCounts = { messages: number; doubled: number; late: number };

export class DisorderProxy {
  readonly counts: ProxyCounts = { messages: 0, doubled: 0, late: 0 };
  readonly #random: Random;
  readonly #port: number;
  readonly #disorder: Disorder;
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();

  /** @param port the broker's, on this machine. */
  constructor(port: number, random: Random, disorder: Disorder) {
    this.#port = port;
    this.#random = random;
    this.#disorder = disorder;
    this.#server = createServer((client) => this.#serve(client));
  }

  async listen(): Promise<string> {
    this.#server.listen(0, "127.0.0.1");
    await once(this.#server, "listening");
    return `nats://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  close(): void {
    this.#server.close();
    for (const socket of this.#sockets) socket.destroy();
  }

  #serve(client: Socket): void {
    const broker = connect(this.#port, "127.0.0.1");
    const ends = [client, broker] as const;
    for (const each of ends) {
      this.#sockets.add(each);
      each.setNoDelay(true);
      each.on("error", () => {});
      each.on("close", () => {
        this.#sockets.delete(each);
        for (const end of ends) end.destroy();
      });
    }
    this.#pass(client, broker);
    this.#pass(broker, client);
  }

  #pass(from: Socket, to: Socket): void {
    const frames = new Frames();
    const write = (bytes: Buffer) => {
      if (!to.destroyed) to.write(bytes);
    };
    const later = (bytes: Buffer) => {
      setTimeout(() => write(bytes), this.#random() * kMostHeldMs);
    };
    from.on("data", (chunk: Buffer) => {
      for (const { bytes, isOurs } of frames.add(chunk)) {
        if (!isOurs) {
          write(bytes);
          continue;
        }
        this.counts.messages += 1;
        const own = Buffer.from(bytes);
        if (this.#random() < this.#disorder.late) {
          this.counts.late += 1;
          later(own);
        } else write(own);
        if (this.#random() < this.#disorder.doubled) {
          this.counts.doubled += 1;
          if (this.#random() < 0.5) write(own);
          else later(own);
        }
      }
    });
  }
}
