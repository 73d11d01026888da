/** MCP over Streamable HTTP, on the loopback only. */

import { createHash, randomUUID, timingSafeEqual } from "node:crypto";
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import type { ReadableStream } from "node:stream/web";

import type { WebStandardStreamableHTTPServerTransport } from "@modelcontextprotocol/server";

import { kCommentsUri } from "./comments.js";
import type { McpSdk } from "./sdk.js";
import { makeServer, type Serving } from "./server.js";

const kPath = "/mcp";

/** A running server. */
export type HttpServing = { url: string; close(): Promise<void> };

export type HttpOptions = {
  /** 0: any free port. */
  port: number;
  /** Token that clients have to send as `Authorization: Bearer`. */
  token: string;
  /** The package's version. */
  version: string;
};

/**
 * Serves MCP until closed.
 * @throws (rejects) as `net.Server.listen`
 */
export async function serveHttp(
  serving: Serving,
  { port, token, version }: HttpOptions,
): Promise<HttpServing> {
  const { sdk } = serving;
  const gate = makeGate(token, sdk);
  const sessions = new LegacySessions(serving, version);
  const modern = sdk.createMcpHandler(() => makeServer(serving, version), { legacy: "reject" });
  const unwatch = serving.sandbox.policy.review?.watch(() => {
    modern.notify.resourceUpdated(kCommentsUri);
  });

  async function answer(request: Request): Promise<Response> {
    const refused = gate(request);
    if (refused !== undefined) return refused;
    if (new URL(request.url).pathname !== kPath) return new Response(null, { status: 404 });
    if (await sdk.isLegacyRequest(request)) return sessions.fetch(request);
    return modern.fetch(request);
  }

  async function handle(incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
    const gone = new AbortController();
    outgoing.once("close", () => gone.abort());
    await send(await answer(requestOf(incoming, gone.signal)), outgoing);
  }

  const http = createServer((incoming, outgoing) => {
    handle(incoming, outgoing).catch(() => {
      if (!outgoing.headersSent) outgoing.writeHead(400);
      outgoing.end();
    });
  });
  http.listen(port, "127.0.0.1");
  await once(http, "listening");
  return {
    url: `http://127.0.0.1:${(http.address() as AddressInfo).port}${kPath}`,
    close: async () => {
      unwatch?.();
      await Promise.allSettled([modern.close(), sessions.close()]);
      http.closeAllConnections();
      await new Promise((resolve) => http.close(resolve));
    },
  };
}

/** Converts Node's HTTP messages to the web's, which the SDK uses. */

/** Returns a request that is aborted when the client disconnects. */
function requestOf(incoming: IncomingMessage, signal: AbortSignal): Request {
  const headers = new Headers();
  for (const [name, values] of Object.entries(incoming.headersDistinct)) {
    for (const value of values ?? []) headers.append(name, value);
  }
  const { method = "GET", url = "/" } = incoming;
  const init: RequestInit = { method, headers, signal };
  if (method !== "GET" && method !== "HEAD") {
    Object.assign(init, { body: Readable.toWeb(incoming), duplex: "half" });
  }
  return new Request(new URL(url, "http://127.0.0.1"), init);
}

/** Sends a response; resolves once it is sent, or the client has disconnected. */
async function send(response: Response, outgoing: ServerResponse): Promise<void> {
  outgoing.writeHead(response.status, Object.fromEntries(response.headers));
  outgoing.flushHeaders();
  if (response.body === null) {
    outgoing.end();
    return;
  }
  await pipeline(Readable.fromWeb(response.body as ReadableStream), outgoing).catch(() => {});
}

/** Access control of the HTTP server: only clients on this host that have the token. */

const digest = (text: string) => createHash("sha256").update(text).digest();

/**
 * Returns a check that refuses a wrong Host (DNS rebinding), a foreign Origin (a page in a browser) and a wrong token;
 * undefined for allowed requests.
 */
function makeGate(token: string, sdk: McpSdk): (request: Request) => Response | undefined {
  const wanted = digest(`Bearer ${token}`);
  return (request) => {
    const refused =
      sdk.hostHeaderValidationResponse(request, sdk.localhostAllowedHostnames()) ??
      sdk.originValidationResponse(request, sdk.localhostAllowedOrigins());
    if (refused !== undefined) return refused;
    const given = digest(request.headers.get("authorization") ?? "");
    if (timingSafeEqual(given, wanted)) return undefined;
    return new Response("a bearer token is wanted\n", {
      status: 401,
      headers: { "www-authenticate": "Bearer" },
    });
  };
}

/** Clients of the older protocol generation, which uses sessions: one server for each session. */

const kMostSessions = 64;

class LegacySessions {
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
    // 404: the protocol's status for a session that has ended.
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
