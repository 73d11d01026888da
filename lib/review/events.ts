/** What changes while the page is open, by server-sent events. */

import type { ServerResponse } from "node:http";

/** What the page is told of: it asks for the rest. */
export type ReviewEvent = "changed" | "runs" | "state";

const kBeatMs = 15_000;

export class Events {
  readonly #open = new Set<ServerResponse>();
  readonly #beat = setInterval(() => this.#write(":\n\n"), kBeatMs).unref();

  /** The answer stays open until the page has gone, or {@link close}. */
  add(response: ServerResponse): void {
    this.#open.add(response);
    response.once("close", () => this.#open.delete(response));
    response.writeHead(200, { "content-type": "text/event-stream" });
    response.write("retry: 1000\n\n");
  }

  tell(event: ReviewEvent, data: object = {}): void {
    this.#write(`event: ${event}\ndata: ${JSON.stringify(data)}\n\n`);
  }

  /** How many pages are open. */
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
