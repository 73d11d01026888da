/** The thread that works on the files of workspaces: each message is a call, and gets one answer. */

import { type MessagePort, parentPort } from "node:worker_threads";

import { conflictsOf } from "../conflicts.js";
import type { Bounds, Delta } from "../content/manifest.js";
import { Exchange, WorkspaceError } from "../exchange.js";
import { goingFirst, type Incoming, receiveArchive, receiveDelta } from "../receive-changes.js";
import { sendChanges } from "../send-changes.js";
import type { Snapshot } from "../snapshot.js";
import { type Checkout, WorkspaceCache } from "../workspace-cache.js";
import { WorkspaceSource } from "../workspace-source.js";
import { bytesTo, ChannelPort, type ReportedChange } from "./channel.js";

/** Values kept for the other thread, by number. */
class Kept<Value> {
  readonly #values = new Map<number, Value>();
  #last = 0;

  add(value: Value): number {
    this.#last += 1;
    this.#values.set(this.#last, value);
    return this.#last;
  }

  /** @throws Error for an unknown number: the thread was restarted since */
  get(number: number): Value {
    const value = this.#values.get(number);
    if (value === undefined) throw new Error("the thread of workspaces has lost its state");
    return value;
  }

  take(number: number): Value {
    const value = this.get(number);
    this.#values.delete(number);
    return value;
  }

  delete(number: number): void {
    this.#values.delete(number);
  }
}

/** Methods for callers. */

type Trip = {
  readonly source: WorkspaceSource;
  readonly snapshot: Snapshot;
  readonly exchange: Exchange;
  incoming?: Incoming;
};

/** Serves callers. Arguments are plain data; a trip moves the workspace of one run to the worker and back. */
export class CallerMethods {
  readonly #sources = new Kept<WorkspaceSource>();
  readonly #trips = new Kept<Trip>();

  /** Opens a source, and returns its number. */
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

  /** Receives the changes of a run, and returns the parts that the host's thread needs. */
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

  /** Reports the verdict to the worker, if it is still connected. */
  async settle({ trip, committed }: { trip: number; committed: boolean }): Promise<void> {
    const { source, exchange, incoming } = this.#trips.take(trip);
    if (committed && incoming) source.remember(incoming.next);
    // A worker that is gone keeps nothing.
    await exchange.send({ t: "verdict", committed }).catch(() => {});
  }

  /** Ends a trip that can't be completed. */
  async abandon({ trip, reason }: { trip: number; reason: string }): Promise<void> {
    const { exchange } = this.#trips.take(trip);
    await exchange.fail(new WorkspaceError(reason, "ERR_WORKSPACE_CUT"));
  }
}

const unexpected = () => new Error("nothing has come back yet");

/** Methods for workers. */

type Visit = {
  readonly cache: WorkspaceCache;
  readonly checkout: Checkout;
  readonly exchange: Exchange;
  /** Changes that the tree will also hold, once the host's thread has committed them. */
  delta?: Delta;
  /** Lets other runs use the tree again. */
  endTurn?: () => void;
};

/** Serves workers. Arguments are plain data; a visit is a run's use of a tree. */
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
   * Sends the changes of a run.
   * @returns `committed`: the caller has the changes; `isOwn`: the tree should get them too, and stays reserved until
   * `release`
   */
  async sendChanges(asked: {
    visit: number;
    contents: string;
    changes: readonly ReportedChange[];
  }) {
    const found = this.#visits.get(asked.visit);
    const { cache, checkout, exchange } = found;
    const sent = await sendChanges(exchange, asked.contents, checkout.manifest, asked.changes);
    if (!sent.committed) return { committed: false, isOwn: false };
    found.delta = sent.delta;
    const endTurn = await cache.own(checkout);
    if (endTurn) found.endTurn = endTurn;
    return { committed: true, isOwn: endTurn !== undefined };
  }

  /** @param isDone true if the tree holds the changes */
  release({ visit, isDone }: { visit: number; isDone: boolean }): void {
    const { cache, checkout, delta, endTurn } = this.#visits.take(visit);
    try {
      cache.release(checkout, isDone ? delta : undefined);
    } finally {
      endTurn?.();
    }
  }

  /** Reports to the caller that no changes will follow. */
  async fail({ visit, reason }: { visit: number; reason: string }): Promise<void> {
    await this.#visits.get(visit).exchange.fail(new Error(reason));
  }

  /** Ends a visit whose run has no result. */
  async abandon(asked: { visit: number; reason: string }): Promise<void> {
    await this.fail(asked);
    this.release({ visit: asked.visit, isDone: false });
  }
}

/** A call. In its arguments, an exchange is the number of an open one. */
type Call = {
  id: number;
  room: "caller" | "worker";
  method: string;
  args: Record<string, unknown>;
};
type Method = (args: Record<string, unknown>) => unknown;

const rooms = { caller: new CallerMethods(), worker: new WorkerMethods() };
const exchanges = new Kept<{ exchange: Exchange; channel: MessagePort }>();

const own: Record<string, Method> = {
  openExchange: ({ channel }) => {
    const port = channel as MessagePort;
    return exchanges.add({ exchange: new Exchange(new ChannelPort(port)), channel: port });
  },
  closeExchange: ({ exchange }) => {
    exchanges.take(exchange as number).channel.close();
  },
};

async function answerOf({ room, method, args }: Call): Promise<unknown> {
  const mine = own[method];
  if (mine) return mine(args);
  const methods = rooms[room] as unknown as Record<string, Method>;
  const isOpened = typeof args.exchange === "number";
  const exchange = isOpened ? exchanges.get(args.exchange as number).exchange : undefined;
  return methods[method]?.({ ...args, ...(exchange && { exchange }) });
}

/** Returns the fields of an error that survive the passage between threads. */
function plain(error: unknown): Record<string, unknown> {
  const { name, message, code, path, fix } = error as Record<string, unknown>;
  return { name, message: message ?? String(error), code, path, fix };
}

parentPort?.on("message", (call: Call) => {
  answerOf(call).then(
    (value) => parentPort?.postMessage({ id: call.id, value }),
    (error: unknown) => parentPort?.postMessage({ id: call.id, error: plain(error) }),
  );
});
