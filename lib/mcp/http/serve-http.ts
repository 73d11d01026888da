/** MCP by Streamable HTTP, on the loopback alone. */

import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

import type { Serving } from "../register.js";
import { makeServer } from "../server.js";
import { requestOf, send } from "./bridge.js";
import { makeGate } from "./gate.js";
import { LegacySessions } from "./sessions.js";

const kPath = "/mcp";

/** A server that listens. */
export type HttpServing = { url: string; close(): Promise<void> };

export type HttpOptions = {
  /** 0: any that is free. */
  port: number;
  /** What clients must have in `Authorization: Bearer`. */
  token: string;
  /** The package's. */
  version: string;
};

/** @throws (rejects) as `net.Server.listen`. */
export async function serveHttp(
  serving: Serving,
  { port, token, version }: HttpOptions,
): Promise<HttpServing> {
  const { sdk } = serving;
  const gate = makeGate(token, sdk);
  const sessions = new LegacySessions(serving, version);
  const modern = sdk.createMcpHandler(() => makeServer(serving, version), { legacy: "reject" });

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
      await Promise.allSettled([modern.close(), sessions.close()]);
      http.closeAllConnections();
      await new Promise((resolve) => http.close(resolve));
    },
  };
}
