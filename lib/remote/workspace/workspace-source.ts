/**
 * The caller's half: tells a worker what the workspace holds, and sends what the worker has not got.
 * One for each directory; exchanges with several workers may go on at once.
 */

import { createHash } from "node:crypto";
import { hostname } from "node:os";

import { asked, sendBlobs } from "./blobs.js";
import { Beneath } from "./content/beneath.js";
import { type Bounds, deltaOf, type Manifest, textOfDelta } from "./content/manifest.js";
import { type Exchange, WorkspaceError } from "./exchange.js";
import { type Snapshot, SnapshotTaker } from "./snapshot.js";

/** How many states are remembered, to be able to tell a worker only what differs from one. */
const kMostRemembered = 16;
/** How often a workspace is looked at again whose files change while they are sent. */
const kTries = 4;

/** What a worker calls the workspace of a directory: the same in each process of this machine. */
export function workspaceKey(directory: string): string {
  return createHash("sha256").update(`${hostname()}\0${directory}`).digest("hex");
}

/** See above. */
export class WorkspaceSource {
  /** The real path. */
  readonly directory: string;
  readonly bounds: Bounds;
  readonly #key: string;
  readonly #taker: SnapshotTaker;
  readonly #remembered = new Map<string, Manifest>();
  #taking: Promise<unknown> = Promise.resolve();

  constructor(directory: string, bounds: Bounds) {
    this.directory = directory;
    this.bounds = bounds;
    this.#key = workspaceKey(directory);
    this.#taker = new SnapshotTaker(directory, bounds);
  }

  /** Looks at the workspace as it is when its turn comes. @throws (rejects) as `SnapshotTaker.take`. */
  async snapshot(): Promise<Snapshot> {
    const taken = this.#taking.then(() => this.#taker.take());
    this.#taking = taken.catch(() => {});
    const snapshot = await taken;
    this.remember(snapshot.manifest);
    return snapshot;
  }

  /** A state that a worker may have. */
  remember(manifest: Manifest): void {
    this.#remembered.delete(manifest.id);
    this.#remembered.set(manifest.id, manifest);
    for (const id of this.#remembered.keys()) {
      if (this.#remembered.size <= kMostRemembered) return;
      this.#remembered.delete(id);
    }
  }

  /**
   * Brings the workspace to the worker, as it is now.
   * @returns what it was.
   * @throws (rejects) as `snapshot`, and as the exchange; the other side has been told.
   */
  async bring(exchange: Exchange): Promise<Snapshot> {
    try {
      for (let tried = 1; ; tried += 1) {
        const snapshot = await this.snapshot();
        if (await this.#send(exchange, snapshot, tried === kTries)) return snapshot;
      }
    } catch (error) {
      await exchange.fail(error);
      throw error;
    }
  }

  /** false: a file has changed since, and another state is going to be offered. */
  async #send(exchange: Exchange, { manifest }: Snapshot, isLast: boolean): Promise<boolean> {
    const { id, bytes } = manifest;
    const entries = manifest.entries.length;
    await exchange.send({ t: "offer", id, entries, bytes, workspace: this.#key });
    const { header } = await exchange.receive("ready", "bases");
    if (header.t === "ready") return true;
    await this.#tell(exchange, manifest, header.ids);
    const files = await asked(exchange, manifest.entries);
    const tree = new Beneath(this.directory);
    try {
      await sendBlobs(exchange, tree, files);
    } catch (error) {
      const isChanging = error instanceof WorkspaceError && error.code === "ERR_WORKSPACE_CHANGING";
      if (!isChanging || isLast) throw error;
      await exchange.send({ t: "again" });
      return false;
    } finally {
      tree.close();
    }
    await exchange.receive("ready");
    return true;
  }

  async #tell(exchange: Exchange, manifest: Manifest, ids: readonly string[]): Promise<void> {
    const known = ids.find((id) => this.#remembered.has(id));
    const base = known === undefined ? undefined : this.#remembered.get(known);
    const text = base ? textOfDelta(deltaOf(base, manifest)) : manifest.text;
    const body = Buffer.from(text);
    const header = { t: "text" as const, ...(known && { base: known }), bytes: body.length };
    await exchange.sendStream(header, [body]);
  }
}
