/** The HTTP server of the review page, on the loopback only. */

import { createHash, randomBytes, timingSafeEqual } from "node:crypto";
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

import { SandboxError } from "../errors.js";
import { builtFile } from "../package-root.js";
import type { ReviewBranches } from "./branches.js";
import { sentFailure } from "./failure.js";
import type { Review } from "./review.js";
import { type Facts, kComments, routesOf, type Sent } from "./routes.js";

/** Milliseconds between checks for changes of running commands, while a page is open. */
const kLookMs = 1000;

/**
 * The page's content security policy: no foreign content, no inline script, no framing.
 * @param nonce nonce of styles that scripts add
 */
const pagePolicy = (nonce: string) =>
  `default-src 'none'; script-src 'self'; style-src 'self' 'nonce-${nonce}'; img-src 'self'; ` +
  "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
/** Policy for content that a command has written: it can't run anything, even when opened directly. */
const kUntrustedPolicy = "default-src 'none'; style-src 'unsafe-inline'; sandbox";

export class ReviewServer {
  readonly #token: string;
  readonly #events = new Events();
  readonly #http: Server;
  readonly #admit: ReturnType<typeof makeGate>;
  #review: Review;
  #branches: ReviewBranches;
  #routes: ReturnType<typeof routesOf>;
  #isLooking = false;
  #looking: NodeJS.Timeout | undefined;
  #onReported: () => void = () => {};

  constructor(review: Review, branches: ReviewBranches, facts: Facts, token: string) {
    this.#review = review;
    this.#branches = branches;
    this.#token = token;
    this.#routes = this.#routesOf(facts);
    this.#admit = makeGate(token, () => (this.#http.address() as AddressInfo).port);
    this.#http = createServer((request, response) => {
      this.#handle(request, response).catch(() => response.destroy());
    });
  }

  /** Shows another transaction at the same address. */
  show(review: Review, branches: ReviewBranches, facts: Facts): void {
    this.#review = review;
    this.#branches = branches;
    this.#routes = this.#routesOf(facts);
    this.tell();
  }

  /** Calls `onReported` after each action of the page on the transaction, including failed ones. */
  watch(onReported: () => void): void {
    this.#onReported = onReported;
  }

  /** Makes open pages reload the comments. */
  commented(): void {
    this.#events.tell("comments");
  }

  /**
   * Starts the server.
   * @param port 0: any free port
   * @throws (rejects) as `net.Server.listen`
   */
  async listen(port: number): Promise<void> {
    this.#http.listen(port, "127.0.0.1");
    await once(this.#http, "listening");
    this.#looking = setInterval(() => void this.#look(), kLookMs).unref();
  }

  /** The page's address, with its token: a client that knows it may commit. */
  get url(): string {
    return `http://127.0.0.1:${(this.#http.address() as AddressInfo).port}/${this.#token}/`;
  }

  /** Makes open pages reload everything. */
  tell(): void {
    this.#events.tell("changed", { revision: this.#review.revision });
    this.#events.tell("runs");
    this.#events.tell("state");
  }

  /** Reports that a command in the transaction has ended. */
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

  #routesOf(facts: Facts): ReturnType<typeof routesOf> {
    return routesOf(facts, this.#branches, () => this.tell());
  }

  async #look(): Promise<void> {
    if (this.#events.size === 0 || this.#isLooking) return;
    this.#isLooking = true;
    try {
      const hasChanged = await this.#review.hasChanged().catch(() => false);
      if (hasChanged) this.#events.tell("changed", { revision: this.#review.revision });
      if (await this.#branches.hasChanged()) this.#events.tell("branches");
    } finally {
      this.#isLooking = false;
    }
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
    // The listener may close the server, so it is called after the answer is sent.
    if (request.method === "POST" && admission.path !== kComments) {
      response.once("finish", () => this.#onReported());
    }
    response.end(request.method === "HEAD" ? undefined : sent.body);
  }

  async #answer(
    request: IncomingMessage,
    path: string,
    nonce: string,
  ): Promise<Sent & { status: number }> {
    try {
      const method = request.method === "HEAD" ? "GET" : (request.method ?? "");
      const route = this.#routes.get(`${method} ${path}`);
      if (route !== undefined) {
        const query = new URL(request.url ?? "", "http://127.0.0.1").searchParams;
        return { status: 200, ...(await route(this.#review, request, query)) };
      }
      const file = method === "GET" ? await pageFile(path, nonce) : undefined;
      if (file !== undefined) return { status: 200, type: file.type, body: file.text };
      const type = "text/plain; charset=utf-8";
      if (method === "PATCH" || method === "DELETE") {
        return { status: 405, type, body: `${method} is not a method of ${path || "the page"}\n` };
      }
      return { status: 404, type, body: "there is no such page\n" };
    } catch (error) {
      const { status, body } = sentFailure(error);
      return { status, type: "application/json; charset=utf-8", body: JSON.stringify(body) };
    }
  }
}

/** Notifies open pages by server-sent events. */

/** An event for the page, which then requests the details. */
export type ReviewEvent = "changed" | "runs" | "state" | "comments" | "branches";

const kBeatMs = 15_000;

class Events {
  readonly #open = new Set<ServerResponse>();
  readonly #beat = setInterval(() => this.#write(":\n\n"), kBeatMs).unref();

  /** Adds a response, which stays open until the page disconnects, or {@link close}. */
  add(response: ServerResponse): void {
    this.#open.add(response);
    response.once("close", () => this.#open.delete(response));
    response.writeHead(200, { "content-type": "text/event-stream" });
    response.write("retry: 1000\n\n");
  }

  tell(event: ReviewEvent, data: object = {}): void {
    this.#write(`event: ${event}\ndata: ${JSON.stringify(data)}\n\n`);
  }

  /** Number of open pages. */
  get size(): number {
    return this.#open.size;
  }

  close(): void {
    clearInterval(this.#beat);
    for (const response of this.#open) response.end();
  }

  #write(text: string): void {
    for (const response of this.#open) response.write(text);
  }
}

/** Access control of the review page: a browser on this host, from the page's own address, with its token. */

const digest = (text: string) => createHash("sha256").update(text).digest();

const kReading: ReadonlySet<string> = new Set(["GET", "HEAD"]);
const kWriting: ReadonlySet<string> = new Set(["POST", "PATCH", "DELETE"]);

/** The path of an admitted request behind the token, or the reason for a refusal. */
export type Admission = { path: string } | { status: number; why: string };

/**
 * Returns a check, in this order, of Host (another name for this address is DNS rebinding), the request's source
 * (Origin and Sec-Fetch-Site, which a page can't choose), the token and the method.
 */
function makeGate(token: string, port: () => number) {
  const wanted = digest(token);
  return ({ method = "", url = "", headers }: IncomingMessage): Admission => {
    const hosts = [`127.0.0.1:${port()}`, `localhost:${port()}`];
    if (!hosts.includes(headers.host ?? "")) {
      return { status: 421, why: "this is not the address of the review page" };
    }
    const { origin } = headers;
    const site = headers["sec-fetch-site"] ?? "none";
    // A followed link only shows the page, which the token permits.
    const isVisit = method === "GET" && headers["sec-fetch-mode"] === "navigate";
    const isOwn = origin === undefined || hosts.some((host) => origin === `http://${host}`);
    if (!isOwn || !(isVisit || ["none", "same-origin"].includes(String(site)))) {
      return { status: 403, why: "another page may not use the review page" };
    }
    const [, given = "", ...rest] = url.split("?", 1).join("").split("/");
    if (!timingSafeEqual(digest(given), wanted) || rest.length === 0) {
      return { status: 404, why: "the address has no token, or another one" };
    }
    if (!kReading.has(method) && !kWriting.has(method)) {
      return { status: 405, why: `${method} is not a method of the review page` };
    }
    if (kWriting.has(method) && origin === undefined) {
      return { status: 403, why: "Expected an Origin" };
    }
    return { path: rest.join("/") };
  };
}

/** The page's own files, as built. */

const directory = () => builtFile("review/page/");
const kTypes: Readonly<Record<string, string>> = {
  html: "text/html; charset=utf-8",
  js: "text/javascript; charset=utf-8",
  css: "text/css; charset=utf-8",
  svg: "image/svg+xml",
  txt: "text/plain; charset=utf-8", // licences of bundled packages
};
const kName = /^[\w-]+\.(html|js|css|svg|txt)$/;

export type PageFile = { type: string; text: string };

/**
 * Returns a file of the page; undefined if it does not exist.
 * @param nonce nonce of styles that scripts add
 */
async function pageFile(path: string, nonce: string): Promise<PageFile | undefined> {
  const name = path === "" ? "index.html" : path;
  const ending = kName.exec(name)?.[1] ?? "";
  const type = kTypes[ending];
  if (type === undefined) return undefined;
  try {
    const text = await readFile(new URL(name, directory()), "utf8");
    return { type, text: ending === "html" ? text.replaceAll("__NONCE__", nonce) : text };
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
}

/** @throws (rejects) SandboxError if the package was built without its page */
export async function expectPage(): Promise<void> {
  if ((await pageFile("", "")) !== undefined) return;
  throw new SandboxError("the review page was not built", {
    code: "ERR_SANDBOX_UNAVAILABLE",
    fix: "npm run build",
  });
}
