/** Questions that a person has not answered yet. Each is answered once, and by the tool that put it. */

import { randomUUID } from "node:crypto";

import type { Narrowing } from "./roots.js";

/** What waits for an answer. */
export type Pending = { tool: string; about: unknown; narrowing: Narrowing };

const kMostPending = 64;

export class Questions {
  readonly #pending = new Map<string, Pending>(); // the oldest first

  /** What the client hands back with the answer: it can't be guessed, and says nothing. */
  put(pending: Pending): string {
    const key = randomUUID();
    this.#pending.set(key, pending);
    const [oldest] = this.#pending.keys();
    if (this.#pending.size > kMostPending && oldest !== undefined) this.#pending.delete(oldest);
    return key;
  }

  /** Undefined where there is none of this tool's, or it was answered. */
  take(key: unknown, tool: string): Pending | undefined {
    const pending = typeof key === "string" ? this.#pending.get(key) : undefined;
    if (pending?.tool !== tool) return undefined;
    this.#pending.delete(key as string);
    return pending;
  }
}
