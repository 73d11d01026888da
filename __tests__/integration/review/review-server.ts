/** A transaction, its page's server, and requests as a browser or somebody else makes them. */

import { request } from "node:http";
import { onTestFinished } from "vitest";

import { type ServedReview, serveReview } from "../../../lib/review/serve-review.js";
import { type Opened, openTransaction } from "../support/transactions.js";

export type Served = Opened & { review: ServedReview; base: URL };

/** Both end with the test. */
export async function served(
  workspace?: string,
  backend: Parameters<typeof openTransaction>[2] = "auto",
): Promise<Served> {
  const opened = await openTransaction(workspace, {}, backend);
  const { transaction, runner } = opened;
  const review = await serveReview({
    transaction,
    runner,
    workspace: opened.workspace,
    approvedBy: "a test",
  });
  onTestFinished(async () => {
    await review.close();
    await runner.close();
  });
  return { ...opened, review, base: new URL(review.url) };
}

export type Reply = {
  status: number;
  headers: Record<string, unknown>;
  body: Buffer;
  json<Value = Record<string, unknown>>(): Value;
};

type Asked = { method?: string; headers?: Record<string, string>; body?: string | Buffer };

/** One request, with the headers of this page's own browser unless others are given. */
export function ask(
  base: URL,
  path: string,
  { method, headers, body }: Asked = {},
): Promise<Reply> {
  const isWriting = method !== undefined && method !== "GET" && method !== "HEAD";
  const own = isWriting ? { origin: base.origin, "content-type": "application/json" } : {};
  return new Promise((resolve, reject) => {
    const sent = request(
      {
        host: "127.0.0.1",
        agent: false, // a connection of its own
        port: base.port,
        path,
        method: method ?? "GET",
        headers: {
          ...own,
          ...(body !== undefined && { "content-length": String(Buffer.byteLength(body)) }),
          ...headers,
        },
      },
      (reply) => {
        const parts: Buffer[] = [];
        reply.on("data", (part: Buffer) => parts.push(part));
        reply.on("error", reject);
        reply.on("end", () => {
          const all = Buffer.concat(parts);
          resolve({
            status: reply.statusCode ?? 0,
            headers: reply.headers,
            body: all,
            json: () => JSON.parse(all.toString("utf8")),
          });
        });
      },
    );
    sent.on("error", reject);
    sent.end(body);
  });
}

type Shown = { path: string; version: string; runs: number[]; protected?: true };

/** What the page calls. */
export class Api {
  readonly #base: URL;

  constructor({ base }: Served) {
    this.#base = base;
  }

  get(path: string): Promise<Reply> {
    return ask(this.#base, `${this.#base.pathname}api/${path}`);
  }

  post(path: string, body: unknown): Promise<Reply> {
    return this.#send("POST", path, body);
  }

  patch(path: string, body: unknown): Promise<Reply> {
    return this.#send("PATCH", path, body);
  }

  #send(method: string, path: string, body: unknown): Promise<Reply> {
    return ask(this.#base, `${this.#base.pathname}api/${path}`, {
      method,
      body: JSON.stringify(body),
    });
  }

  async changes(): Promise<Shown[]> {
    return (await this.get("changes")).json<{ changes: Shown[] }>().changes;
  }

  file(path: string, side: string): Promise<Reply> {
    return this.get(`file?${new URLSearchParams({ path, side })}`);
  }
}
