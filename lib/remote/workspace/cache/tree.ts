import {
  closeSync,
  linkSync,
  mkdirSync,
  openSync,
  symlinkSync,
  utimesSync,
  writeSync,
} from "node:fs";
import { join } from "node:path";

import { receiveBlobs } from "../blobs/receive-blobs.js";
import { Beneath } from "../content/beneath.js";
import type { FileEntry } from "../content/entry.js";
import { type Bounds, Manifest } from "../content/manifest.js";
import type { Exchange } from "../exchange.js";
import { SnapshotTaker } from "../source/snapshot.js";
import { type Incoming, place } from "./place.js";
import { removeTree } from "./remove-tree.js";

/**
 * One tree of a workspace on the worker: `files/`, which runs are in, and `incoming/`, where contents
 * wait until all have come. What `files/` holds is known from the manifest alone while this process
 * lives; of a tree that another process has left, it is found out by reading it.
 */
export class Tree {
  readonly id: string;
  readonly directory: string;
  readonly files: string;
  /** Runs that are in it. */
  users = 0;
  /** The order in which trees were used. */
  usedAt = 0;
  /** Bytes of its files, as far as is known. */
  bytes = 0;
  /** undefined: not known, as where something went wrong. */
  manifest: Manifest | undefined;

  constructor(parent: string, id: string) {
    this.id = id;
    this.directory = join(parent, id);
    this.files = join(this.directory, "files");
  }

  /** With nothing in it. */
  static make(parent: string, id: string): Tree {
    const tree = new Tree(parent, id);
    mkdirSync(tree.files, { recursive: true, mode: 0o700 });
    tree.manifest = Manifest.empty;
    return tree;
  }

  /** Finds out what it holds, where that is not known. @throws (rejects) as `SnapshotTaker.take`. */
  async learn(bounds: Bounds): Promise<Manifest> {
    if (this.manifest === undefined) {
      this.manifest = (await new SnapshotTaker(this.files, bounds).take()).manifest;
      this.bytes = this.manifest.bytes;
    }
    return this.manifest;
  }

  /** Takes contents out of an exchange, and then is the tree of another state, or of the old one. */
  async become(to: Manifest, exchange: Exchange, missing: readonly FileEntry[]): Promise<void> {
    const from = this.manifest ?? Manifest.empty;
    const incoming = this.#emptyIncoming();
    try {
      await receive(exchange, missing, incoming);
      this.manifest = undefined;
      await place(this.files, from, to, incoming);
      this.manifest = to;
      this.bytes = to.bytes;
      utimesSync(this.directory, new Date(), new Date());
    } finally {
      removeTree(incoming.directory);
    }
  }

  /** Fills this empty tree with hard links to the files of another one, which is left as it is. */
  linkFrom(other: Tree, manifest: Manifest): void {
    this.manifest = undefined;
    const from = new Beneath(other.files);
    const to = new Beneath(this.files, { mayWrite: true });
    try {
      for (const entry of manifest.entries) {
        const { path } = entry;
        if (entry.type === "file") linkSync(from.nameOf(path), to.nameOf(path));
        else if (entry.type === "symlink") symlinkSync(entry.target, to.nameOf(path));
        else if (path !== ".") mkdirSync(to.nameOf(path), 0o700);
      }
    } finally {
      from.close();
      to.close();
    }
    const own = (entry: Manifest["entries"][number]) =>
      entry.type === "directory" ? { ...entry, mode: 0o700 } : entry;
    this.manifest = Manifest.ofSorted(manifest.entries.map(own));
    this.bytes = manifest.bytes;
  }

  remove(): void {
    removeTree(this.directory);
  }

  #emptyIncoming(): Incoming {
    const directory = join(this.directory, "incoming");
    removeTree(directory);
    mkdirSync(directory, { mode: 0o700 });
    return { directory, contents: new Set() };
  }
}

async function receive(
  exchange: Exchange,
  missing: readonly FileEntry[],
  { directory, contents }: Incoming,
): Promise<void> {
  let descriptor = -1;
  const shut = () => {
    if (descriptor >= 0) closeSync(descriptor);
    descriptor = -1;
  };
  try {
    await receiveBlobs(exchange, missing, {
      begin: ({ sha256 }) => {
        descriptor = openSync(join(directory, sha256), "wx", 0o600);
      },
      write: (bytes) => {
        for (let at = 0; at < bytes.byteLength; ) at += writeSync(descriptor, bytes, at);
      },
      end: ({ sha256 }) => {
        shut();
        contents.add(sha256);
      },
    });
  } finally {
    shut();
  }
}
