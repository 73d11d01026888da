/** What the other thread does for workers; see `Methods`. */

import { type Checkout, WorkspaceCache } from "../cache/workspace-cache.js";
import { sendChanges } from "../changes/send-changes.js";
import type { ToldChange } from "../changes/told-change.js";
import type { Delta } from "../content/delta.js";
import type { Bounds } from "../content/manifest.js";
import type { Exchange } from "../exchange.js";
import { Kept } from "./kept.js";

type Visit = {
  readonly cache: WorkspaceCache;
  readonly checkout: Checkout;
  readonly exchange: Exchange;
  /** What the tree is going to hold besides, once the host's thread has put it there. */
  delta?: Delta;
  /** Lets others use the tree again. */
  endTurn?: () => void;
};

/** Each method's arguments are plain data; a visit is a run's use of a tree. */
export class WorkerMethods {
  readonly #caches = new Kept<WorkspaceCache>();
  readonly #visits = new Kept<Visit>();

  async openCache({ root, bounds }: { root: string; bounds: Bounds }) {
    const cache = await WorkspaceCache.open(root, bounds);
    return { cache: this.#caches.add(cache), runs: cache.runs };
  }

  closeCache({ cache }: { cache: number }): void {
    this.#caches.take(cache).close();
  }

  async accept(asked: { cache: number; tenant: string; exchange: Exchange }) {
    const { tenant, exchange } = asked;
    const cache = this.#caches.get(asked.cache);
    const checkout = await cache.accept(tenant, exchange);
    const visit = this.#visits.add({ cache, checkout, exchange });
    return { visit, directory: checkout.tree.files };
  }

  /**
   * Sends what was changed.
   * @returns whether the caller has it, and whether the tree is to get it too: then `release` is waited
   * for before anybody else uses it.
   */
  async sendChanges(asked: { visit: number; contents: string; changes: readonly ToldChange[] }) {
    const found = this.#visits.get(asked.visit);
    const { cache, checkout, exchange } = found;
    const sent = await sendChanges(exchange, asked.contents, checkout.manifest, asked.changes);
    if (!sent.committed) return { committed: false, isOwn: false };
    found.delta = sent.delta;
    const endTurn = await cache.own(checkout);
    if (endTurn) found.endTurn = endTurn;
    return { committed: true, isOwn: endTurn !== undefined };
  }

  /** @param isDone whether the tree holds what was changed. */
  release({ visit, isDone }: { visit: number; isDone: boolean }): void {
    const { cache, checkout, delta, endTurn } = this.#visits.take(visit);
    try {
      cache.release(checkout, isDone ? delta : undefined);
    } finally {
      endTurn?.();
    }
  }

  /** Tells the caller that nothing is going to come. */
  async fail({ visit, reason }: { visit: number; reason: string }): Promise<void> {
    await this.#visits.get(visit).exchange.fail(new Error(reason));
  }

  /** Ends a visit whose run can't be told of. */
  async abandon(asked: { visit: number; reason: string }): Promise<void> {
    await this.fail(asked);
    this.release({ visit: asked.visit, isDone: false });
  }
}
