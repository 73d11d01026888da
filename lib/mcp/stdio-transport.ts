/**
 * Messages of MCP as lines on two streams. The SDK's own ends the connection over a line that is too long,
 * and reads no further; here the request is refused, and what comes next is served.
 */

import type { Readable, Writable } from "node:stream";
import type { JSONRPCMessage, Transport } from "@modelcontextprotocol/server";

import { LineReader } from "./line-reader.js";
import type { McpSdk } from "./sdk.js";

/** The longest message that is read, in bytes. */
export const kLongestMessage = 16 * 1024 ** 2;

const kIsRequest = /"method":/;
// Where the id is a member of the message itself, and not of something in it: clients write it last or first.
const kIds = [
  { of: "end", pattern: /"id":("[^"\\]{1,200}"|\d{1,15})\}\r?$/ },
  { of: "begin", pattern: /^\{(?:"jsonrpc":"2\.0",)?"id":("[^"\\]{1,200}"|\d{1,15}),/ },
] as const;

/** The id of a request of which only both ends are known; undefined where it can't be told. */
export function idOfLong(begin: string, end: string): string | number | undefined {
  if (!kIsRequest.test(begin) && !kIsRequest.test(end)) return undefined; // nobody waits for an answer
  for (const { of, pattern } of kIds) {
    const [, id] = pattern.exec(of === "end" ? end : begin) ?? [];
    if (id !== undefined) return JSON.parse(id);
  }
  return undefined;
}

export class StdioTransport implements Transport {
  onclose?: () => void;
  onerror?: (error: Error) => void;
  onmessage?: Transport["onmessage"];
  readonly #input: Readable;
  readonly #output: Writable;
  readonly #sdk: Pick<McpSdk, "deserializeMessage" | "serializeMessage">;
  readonly #lines: LineReader;
  #drained: Promise<void> | undefined;
  #isClosed = false;

  constructor(
    input: Readable,
    output: Writable,
    sdk: Pick<McpSdk, "deserializeMessage" | "serializeMessage">,
  ) {
    this.#input = input;
    this.#output = output;
    this.#sdk = sdk;
    this.#lines = new LineReader(kLongestMessage, {
      onLine: (line) => this.#receive(line),
      onLong: (begin, end) => this.#refuse(begin, end),
    });
  }

  async start(): Promise<void> {
    this.#input.on("data", this.#onData);
    for (const event of ["end", "close", "error"] as const) this.#input.on(event, this.#onGone);
    this.#output.on("error", this.#onGone);
    if (this.#input.readableEnded || this.#input.destroyed) setImmediate(this.#onGone);
  }

  /** Resolves once there is room for more. @throws (rejects) where the connection is closed. */
  async send(message: JSONRPCMessage): Promise<void> {
    if (this.#isClosed) throw new Error("the connection is closed");
    if (this.#output.write(this.#sdk.serializeMessage(message))) return;
    this.#drained ??= new Promise((resolve) => {
      const done = () => {
        for (const event of ["drain", "close", "error"] as const) this.#output.off(event, done);
        this.#drained = undefined;
        resolve();
      };
      for (const event of ["drain", "close", "error"] as const) this.#output.on(event, done);
    });
    await this.#drained;
  }

  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#input.off("data", this.#onData);
    this.#input.pause();
    this.onclose?.();
  }

  readonly #onData = (chunk: Buffer) => this.#lines.take(chunk);
  readonly #onGone = () => void this.close();

  #receive(line: string): void {
    if (this.#isClosed) return;
    try {
      this.onmessage?.(this.#sdk.deserializeMessage(line));
    } catch (error) {
      this.onerror?.(error as Error); // no message: nobody could be answered
    }
  }

  #refuse(begin: string, end: string): void {
    const message = `the message is longer than ${kLongestMessage / 1024 ** 2} MiB`;
    const id = idOfLong(begin, end);
    if (id === undefined) this.onerror?.(new Error(message));
    else this.send({ jsonrpc: "2.0", id, error: { code: -32600, message } }).catch(() => {});
  }
}
