/**
 * `--metrics PORT`: a worker's health and figures by HTTP, on 127.0.0.1 alone. It changes nothing, and
 * has no secret; commands with `network: "allow"` can read it, too.
 */

import { once } from "node:events";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

import { kPrometheusType, prometheusText } from "./prometheus-text.js";
import type { WorkerState } from "./worker-state.js";

const kHost = "127.0.0.1";
const kHosts = /^(127\.0\.0\.1|localhost)(:\d+)?$/;
const kMostConnections = 32;
const kMostHeadersMs = 10_000;

type Answer = { status: number; type?: string; body: string };

/** Why no run should be asked of it; undefined when it takes some. */
function whyNotReady({ connection, isDraining }: WorkerState): string | undefined {
  if (isDraining) return "draining";
  return connection === "connected" ? undefined : `the broker's connection is ${connection}`;
}

function answerTo(request: IncomingMessage, state: () => WorkerState): Answer {
  // A page that a browser of this machine shows may have a name that leads here.
  if (!kHosts.test(request.headers.host ?? "")) return { status: 403, body: "forbidden\n" };
  if (request.method !== "GET" && request.method !== "HEAD") {
    return { status: 405, body: "only GET\n" };
  }
  switch ((request.url ?? "").split("?")[0]) {
    case "/healthz":
      return { status: 200, body: "ok\n" };
    case "/readyz": {
      const why = whyNotReady(state());
      return why === undefined ? { status: 200, body: "ok\n" } : { status: 503, body: `${why}\n` };
    }
    case "/metrics":
      return { status: 200, type: kPrometheusType, body: prometheusText(state()) };
    default:
      return { status: 404, body: "there are /healthz, /readyz and /metrics\n" };
  }
}

function send(response: ServerResponse, { status, type, body }: Answer, isHead: boolean): void {
  response.writeHead(status, {
    "content-type": type ?? "text/plain; charset=utf-8",
    "content-length": Buffer.byteLength(body),
    "cache-control": "no-store",
    ...(status === 405 && { allow: "GET, HEAD" }),
  });
  response.end(isHead ? undefined : body);
}

/** Listens until it is closed; does not keep the process alive. */
export class MetricsServer {
  readonly #server: Server;

  private constructor(server: Server) {
    this.#server = server;
  }

  /**
   * @param port 0: any that is free.
   * @param state asked at each request.
   * @throws (rejects) Node's error where the port can't be had.
   */
  static async open(port: number, state: () => WorkerState): Promise<MetricsServer> {
    const server = createServer({ headersTimeout: kMostHeadersMs }, (request, response) => {
      send(response, answerTo(request, state), request.method === "HEAD");
    });
    server.maxConnections = kMostConnections;
    server.listen(port, kHost);
    await once(server, "listening"); // or rejects with its error
    server.unref();
    return new MetricsServer(server);
  }

  /** Where it listens. */
  get url(): string {
    return `http://${kHost}:${(this.#server.address() as AddressInfo).port}`;
  }

  /** Resolves when nothing listens and no client is there any more. */
  async close(): Promise<void> {
    const closed = once(this.#server, "close");
    this.#server.close();
    this.#server.closeAllConnections();
    await closed;
  }
}
