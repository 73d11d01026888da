/** Clients of the older protocol generation, which have a session: a server for each. */

import { randomUUID } from "node:crypto";

import type { WebStandardStreamableHTTPServerTransport } from "@modelcontextprotocol/server";

import type { Serving } from "../register.js";
import { makeServer } from "../server.js";

const kMostSessions = 64;

export class LegacySessions {
  readonly #serving: Serving;
  readonly #version: string;
  readonly #open = new Map<string, WebStandardStreamableHTTPServerTransport>(); // the oldest first

  constructor(serving: Serving, version: string) {
    this.#serving = serving;
    this.#version = version;
  }

  async fetch(request: Request): Promise<Response> {
    const id = request.headers.get("mcp-session-id");
    if (id === null) return (await this.#begin()).handleRequest(request);
    const transport = this.#open.get(id);
    // 404: what the protocol has for a session that is over.
    return transport?.handleRequest(request) ?? new Response("no such session\n", { status: 404 });
  }

  async close(): Promise<void> {
    await Promise.allSettled([...this.#open.values()].map((transport) => transport.close()));
  }

  async #begin(): Promise<WebStandardStreamableHTTPServerTransport> {
    const transport = new this.#serving.sdk.WebStandardStreamableHTTPServerTransport({
      sessionIdGenerator: randomUUID,
      onsessioninitialized: (id) => {
        this.#open.set(id, transport);
        const [oldest] = this.#open;
        if (this.#open.size > kMostSessions && oldest !== undefined) void oldest[1].close();
      },
    });
    const server = makeServer(this.#serving, this.#version);
    await server.connect(transport);
    const { onclose } = transport; // the server's own
    transport.onclose = () => {
      onclose?.();
      if (transport.sessionId !== undefined) this.#open.delete(transport.sessionId);
    };
    return transport;
  }
}
