/** What the other thread does for callers; see `Methods`. */

import type { MessagePort } from "node:worker_threads";

import { conflictsOf } from "../changes/conflicts.js";
import {
  goingFirst,
  type Incoming,
  receiveArchive,
  receiveDelta,
} from "../changes/receive-changes.js";
import type { Bounds } from "../content/manifest.js";
import type { Exchange } from "../exchange.js";
import type { Snapshot } from "../source/snapshot.js";
import { WorkspaceSource } from "../source/workspace-source.js";
import { WorkspaceError } from "../workspace-error.js";
import { bytesTo } from "./channel.js";
import { Kept } from "./kept.js";

type Trip = {
  readonly source: WorkspaceSource;
  readonly snapshot: Snapshot;
  readonly exchange: Exchange;
  incoming?: Incoming;
};

/** Each method's arguments are plain data; a trip is the way of one run's workspace, there and back. */
export class CallerMethods {
  readonly #sources = new Kept<WorkspaceSource>();
  readonly #trips = new Kept<Trip>();

  /** A source, by its number. */
  openSource({ directory, bounds }: { directory: string; bounds: Bounds }): number {
    return this.#sources.add(new WorkspaceSource(directory, bounds));
  }

  closeSource({ source }: { source: number }): void {
    this.#sources.delete(source);
  }

  async bring({ source, exchange }: { source: number; exchange: Exchange }) {
    const found = this.#sources.get(source);
    const snapshot = await found.bring(exchange);
    const trip = this.#trips.add({ source: found, snapshot, exchange });
    const { entries, bytes } = snapshot.manifest;
    return { trip, skipped: snapshot.skipped, entries: entries.length, bytes };
  }

  /** What was changed, as far as the host's thread has to know. */
  async receiveDelta({ trip }: { trip: number }) {
    const found = this.#trips.get(trip);
    const { source, snapshot, exchange } = found;
    const incoming = await receiveDelta(exchange, snapshot.manifest, source.bounds);
    found.incoming = incoming;
    const { removed, set } = incoming.delta;
    return {
      going: goingFirst(snapshot.manifest, incoming.delta),
      removed: removed.length,
      set: set.length,
    };
  }

  async archive({ trip, channel }: { trip: number; channel: MessagePort }): Promise<void> {
    const { snapshot, exchange, incoming } = this.#trips.get(trip);
    if (!incoming) throw unexpected();
    try {
      await receiveArchive(exchange, snapshot.manifest, incoming.delta, bytesTo(channel));
    } finally {
      channel.close();
    }
  }

  async conflicts({ trip }: { trip: number }): Promise<string[]> {
    const { source, snapshot, incoming } = this.#trips.get(trip);
    if (!incoming) throw unexpected();
    return conflictsOf(source.directory, snapshot, incoming.delta);
  }

  /** Tells the worker what has become of it, as far as it can be told. */
  async settle({ trip, committed }: { trip: number; committed: boolean }): Promise<void> {
    const { source, exchange, incoming } = this.#trips.take(trip);
    if (committed && incoming) source.remember(incoming.next);
    // A worker that is gone has nothing to keep.
    await exchange.send({ t: "verdict", committed }).catch(() => {});
  }

  /** Ends a trip that can't be completed. */
  async abandon({ trip, reason }: { trip: number; reason: string }): Promise<void> {
    const { exchange } = this.#trips.take(trip);
    await exchange.fail(new WorkspaceError(reason, "ERR_WORKSPACE_CUT"));
  }
}

const unexpected = () => new Error("nothing has come back yet");
