/**
 * The caller's half: offers the workspace's state to a worker, and sends the contents that the worker lacks. One exists
 * per directory; exchanges with several workers may overlap.
 */

import { createHash } from "node:crypto";
import { hostname } from "node:os";

import { asked, sendBlobs } from "./blobs.js";
import { Beneath } from "./content/beneath.js";
import { type Bounds, deltaOf, type Manifest, textOfDelta } from "./content/manifest.js";
import { type Exchange, WorkspaceError } from "./exchange.js";
import { type Snapshot, SnapshotTaker } from "./snapshot.js";

/** Number of remembered states, so that a worker with one of them gets only the difference. */
const kMostRemembered = 16;
/** How often a workspace is read again when its files change while they are sent. */
const kTries = 4;

/** Returns the worker's key for the workspace of a directory: equal in all processes of this machine. */
export function workspaceKey(directory: string): string {
  return createHash("sha256").update(`${hostname()}\0${directory}`).digest("hex");
}

/** Sends the states of one directory to workers. */
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

  /**
   * Takes a snapshot once earlier ones have finished.
   * @throws (rejects) as `SnapshotTaker.take`
   */
  async snapshot(): Promise<Snapshot> {
    const taken = this.#taking.then(() => this.#taker.take());
    this.#taking = taken.catch(() => {});
    const snapshot = await taken;
    this.remember(snapshot.manifest);
    return snapshot;
  }

  /** Remembers a state that a worker may have. */
  remember(manifest: Manifest): void {
    this.#remembered.delete(manifest.id);
    this.#remembered.set(manifest.id, manifest);
    for (const id of this.#remembered.keys()) {
      if (this.#remembered.size <= kMostRemembered) return;
      this.#remembered.delete(id);
    }
  }

  /**
   * Sends the workspace, as it is now, to the worker.
   * @returns the snapshot that was sent
   * @throws (rejects) as `snapshot`, and as the exchange; the other side has received the error
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

  /** Sends one snapshot. Returns false if a file has changed since, so that another has to be offered. */
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
