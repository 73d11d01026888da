/** Node's HTTP messages as the web's, which the SDK has. */

import type { IncomingMessage, ServerResponse } from "node:http";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import type { ReadableStream } from "node:stream/web";

/** Aborted when the client has gone. */
export function requestOf(incoming: IncomingMessage, signal: AbortSignal): Request {
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

/** Resolves once it is sent, or the client has gone. */
export async function send(response: Response, outgoing: ServerResponse): Promise<void> {
  outgoing.writeHead(response.status, Object.fromEntries(response.headers));
  outgoing.flushHeaders();
  if (response.body === null) {
    outgoing.end();
    return;
  }
  await pipeline(Readable.fromWeb(response.body as ReadableStream), outgoing).catch(() => {});
}
