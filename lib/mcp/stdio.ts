/** MCP over standard input and output. */

import { Console } from "node:console";
import type { Readable, Writable } from "node:stream";

import type { JSONRPCMessage, Transport } from "@modelcontextprotocol/server";

import { watchComments } from "./comments.js";
import type { McpSdk, McpStdio } from "./sdk.js";
import { makeServer, type Serving } from "./server.js";

/** The serving of one client, until it disconnects. */
export type StdioServing = {
  /** Resolves at the end of standard input, or when standard output has no reader any more. */
  gone: Promise<void>;
  /** Reads no more messages; running calls are aborted. */
  close(): Promise<void>;
};

/** Serves one client, of either protocol generation. */
export async function serveStdio(
  serving: Serving,
  { serveStdio: serve }: McpStdio,
  version: string,
): Promise<StdioServing> {
  // Text that libraries print goes to standard error, since standard output carries the protocol.
  globalThis.console = new Console(process.stderr);
  const transport = new StdioTransport(process.stdin, process.stdout, serving.sdk);
  const { review } = serving.sandbox.policy;
  let unwatch: (() => void) | undefined;
  const make = ({ era }: { era: "legacy" | "modern" }) => {
    const server = makeServer(serving, version);
    if (review !== undefined && era === "modern") unwatch = watchComments(server, review);
    return server;
  };
  const { close } = serve(make, { transport, onerror: () => {} });
  const { onclose } = transport; // the SDK's
  const gone = new Promise<void>((resolve) => {
    transport.onclose = () => {
      onclose?.();
      unwatch?.();
      resolve();
    };
  });
  return { gone, close };
}

/**
 * Reads and writes MCP messages as lines on two streams. The SDK's own transport closes the connection at a line that
 * is too long; this one refuses the request, and serves the next messages.
 */

/** The most bytes of a message. */
export const kLongestMessage = 16 * 1024 ** 2;

const kIsRequest = /"method":/;
// The id as a member of the message itself, and not of a nested object: clients write it last or first.
const kIds = [
  { of: "end", pattern: /"id":("[^"\\]{1,200}"|\d{1,15})\}\r?$/ },
  { of: "begin", pattern: /^\{(?:"jsonrpc":"2\.0",)?"id":("[^"\\]{1,200}"|\d{1,15}),/ },
] as const;

/** Returns the id of a request of which only both ends are known; undefined if it can't be determined. */
export function idOfLong(begin: string, end: string): string | number | undefined {
  if (!kIsRequest.test(begin) && !kIsRequest.test(end)) return undefined; // a notification has no answer
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

  /**
   * Resolves once more can be sent.
   * @throws (rejects) when the connection is closed
   */
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
      this.onerror?.(error as Error); // malformed: it has no id to answer to
    }
  }

  #refuse(begin: string, end: string): void {
    const message = `the message is longer than ${kLongestMessage / 1024 ** 2} MiB`;
    const id = idOfLong(begin, end);
    if (id === undefined) this.onerror?.(new Error(message));
    else this.send({ jsonrpc: "2.0", id, error: { code: -32600, message } }).catch(() => {});
  }
}

/** Splits a stream into lines. Of a line that is too long only both ends are kept. Pure. */

const kNewline = 0x0a;
const kKept = 512;

/** Handles lines. */
export type LineHandlers = {
  /** Called with one line of UTF-8 without its end; not called for empty lines. */
  onLine(line: string): void;
  /** Called with the first and the last bytes of a line that is too long. */
  onLong(begin: string, end: string): void;
};

export class LineReader {
  readonly #most: number;
  readonly #handlers: LineHandlers;
  #parts: Buffer[] = [];
  #bytes = 0;
  #begin: Buffer | undefined; // set while a line is too long; the parts then hold its end

  /** @param most most bytes of a line */
  constructor(most: number, handlers: LineHandlers) {
    this.#most = most;
    this.#handlers = handlers;
  }

  take(chunk: Buffer): void {
    let from = 0;
    for (let at = chunk.indexOf(kNewline); at !== -1; at = chunk.indexOf(kNewline, from)) {
      this.#add(chunk.subarray(from, at));
      this.#end();
      from = at + 1;
    }
    this.#add(chunk.subarray(from));
  }

  #add(part: Buffer): void {
    if (part.length === 0) return;
    this.#bytes += part.length;
    this.#parts.push(part);
    if (this.#bytes <= this.#most) return;
    const all = this.#joined();
    this.#begin ??= Buffer.from(all.subarray(0, kKept));
    this.#parts = [Buffer.from(all.subarray(-kKept))];
  }

  #end(): void {
    const all = this.#joined();
    const begin = this.#begin;
    this.#parts = [];
    this.#bytes = 0;
    this.#begin = undefined;
    if (begin !== undefined) this.#handlers.onLong(begin.toString(), all.toString());
    else if (all.length > 0) this.#handlers.onLine(all.toString());
  }

  #joined(): Buffer {
    const [only] = this.#parts;
    return only !== undefined && this.#parts.length === 1 ? only : Buffer.concat(this.#parts);
  }
}
