/** The page's server, on the loopback alone. */

import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

import { Events } from "./events.js";
import { sentFailure } from "./failure.js";
import { makeGate } from "./gate.js";
import { pageFile } from "./page-files.js";
import type { Review } from "./review.js";
import { type Facts, routesOf, type Sent } from "./routes.js";

/** How often changes are looked for that a command makes while it runs, as long as a page is open. */
const kLookMs = 1000;

/** Nothing from elsewhere, no script in the page, in no frame. @param nonce of styles that scripts add. */
const pagePolicy = (nonce: string) =>
  `default-src 'none'; script-src 'self'; style-src 'self' 'nonce-${nonce}'; img-src 'self'; ` +
  "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
/** For what a command has written: nothing in it may do anything, also where it is opened by itself. */
const kUntrustedPolicy = "default-src 'none'; style-src 'unsafe-inline'; sandbox";

export class ReviewServer {
  readonly #review: Review;
  readonly #token: string;
  readonly #events = new Events();
  readonly #routes: ReturnType<typeof routesOf>;
  readonly #http: Server;
  readonly #admit: ReturnType<typeof makeGate>;
  #looking: NodeJS.Timeout | undefined;
  #onTold: () => void = () => {};

  constructor(review: Review, facts: Facts, token: string) {
    this.#review = review;
    this.#token = token;
    this.#routes = routesOf(facts, () => this.tell());
    this.#admit = makeGate(token, () => (this.#http.address() as AddressInfo).port);
    this.#http = createServer((request, response) => {
      this.#handle(request, response).catch(() => response.destroy());
    });
  }

  /** `onTold` is called after each thing that the page has done, or tried to. */
  watch(onTold: () => void): void {
    this.#onTold = onTold;
  }

  /** @param port 0: any that is free. @throws (rejects) as `net.Server.listen`. */
  async listen(port: number): Promise<void> {
    this.#http.listen(port, "127.0.0.1");
    await once(this.#http, "listening");
    this.#looking = setInterval(() => void this.#look(), kLookMs).unref();
  }

  /** The page's address, with its token: whoever has it may commit. */
  get url(): string {
    return `http://127.0.0.1:${(this.#http.address() as AddressInfo).port}/${this.#token}/`;
  }

  /** Open pages look at everything again. */
  tell(): void {
    this.#events.tell("changed", { revision: this.#review.revision });
    this.#events.tell("runs");
    this.#events.tell("state");
  }

  /** A command has ended in the transaction. */
  ranCommand(): void {
    this.#events.tell("runs");
    void this.#look();
  }

  async close(): Promise<void> {
    clearInterval(this.#looking);
    this.#events.tell("state");
    this.#events.close();
    const closed = new Promise((resolve) => this.#http.close(resolve));
    this.#http.closeAllConnections();
    await closed;
  }

  async #look(): Promise<void> {
    if (this.#events.size === 0) return;
    const hasChanged = await this.#review.hasChanged().catch(() => false);
    if (hasChanged) this.#events.tell("changed", { revision: this.#review.revision });
  }

  async #handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const nonce = randomBytes(16).toString("base64url");
    response.setHeader("content-security-policy", pagePolicy(nonce));
    response.setHeader("x-content-type-options", "nosniff");
    response.setHeader("referrer-policy", "no-referrer");
    response.setHeader("cache-control", "no-store");
    response.setHeader("cross-origin-resource-policy", "same-origin");
    response.setHeader("cross-origin-opener-policy", "same-origin");
    const admission = this.#admit(request);
    if ("why" in admission) {
      response.writeHead(admission.status, { "content-type": "text/plain; charset=utf-8" });
      response.end(`${admission.why}\n`);
      return;
    }
    if (admission.path === "api/events") {
      this.#events.add(response);
      return;
    }
    const sent = await this.#answer(request, admission.path, nonce);
    if ("isUntrusted" in sent) {
      response.setHeader("content-security-policy", kUntrustedPolicy);
    }
    response.writeHead(sent.status, { "content-type": sent.type });
    // Who is told may end the server.
    if (request.method === "POST") response.once("finish", () => this.#onTold());
    response.end(request.method === "HEAD" ? undefined : sent.body);
  }

  async #answer(
    request: IncomingMessage,
    path: string,
    nonce: string,
  ): Promise<Sent & { status: number }> {
    try {
      const method = request.method === "POST" ? "POST" : "GET";
      const route = this.#routes.get(`${method} ${path}`);
      if (route !== undefined) {
        const query = new URL(request.url ?? "", "http://127.0.0.1").searchParams;
        return { status: 200, ...(await route(this.#review, request, query)) };
      }
      const file = method === "GET" ? await pageFile(path, nonce) : undefined;
      if (file !== undefined) return { status: 200, type: file.type, body: file.text };
      return { status: 404, type: "text/plain; charset=utf-8", body: "there is no such page\n" };
    } catch (error) {
      const { status, body } = sentFailure(error);
      return { status, type: "application/json; charset=utf-8", body: JSON.stringify(body) };
    }
  }
}
