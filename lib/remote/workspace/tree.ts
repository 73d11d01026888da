import {
  chmodSync,
  closeSync,
  constants,
  copyFileSync,
  fchmodSync,
  linkSync,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  renameSync,
  rmdirSync,
  rmSync,
  symlinkSync,
  unlinkSync,
  utimesSync,
  writeSync,
} from "node:fs";
import { join } from "node:path";

import { receiveBlobs } from "./blobs.js";
import { Beneath } from "./content/beneath.js";
import type { Entry, FileEntry } from "./content/entry.js";
import { type Bounds, deltaOf, Manifest } from "./content/manifest.js";
import type { Exchange } from "./exchange.js";
import { SnapshotTaker } from "./snapshot.js";

/**
 * One tree of a workspace on the worker: `files/`, in which commands run, and `incoming/`, which holds received
 * contents until all have arrived. This process knows the contents of `files/` by the manifest alone; a tree left by
 * another process is read first.
 */
export class Tree {
  readonly id: string;
  readonly directory: string;
  readonly files: string;
  /** Number of runs in the tree. */
  users = 0;
  /** Sequence number of the last use. */
  usedAt = 0;
  /** Bytes of all files, as far as known. */
  bytes = 0;
  /** Undefined: not known, for example after an error. */
  manifest: Manifest | undefined;

  constructor(parent: string, id: string) {
    this.id = id;
    this.directory = join(parent, id);
    this.files = join(this.directory, "files");
  }

  /** Makes an empty tree. */
  static make(parent: string, id: string): Tree {
    const tree = new Tree(parent, id);
    mkdirSync(tree.files, { recursive: true, mode: 0o700 });
    tree.manifest = Manifest.empty;
    return tree;
  }

  /**
   * Reads the contents of the tree, unless they are known.
   * @throws (rejects) as `SnapshotTaker.take`
   */
  async learn(bounds: Bounds): Promise<Manifest> {
    if (this.manifest === undefined) {
      this.manifest = (await new SnapshotTaker(this.files, bounds).take()).manifest;
      this.bytes = this.manifest.bytes;
    }
    return this.manifest;
  }

  /** Receives contents, and then changes the tree to another state. An error before that leaves the old state. */
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

  /** Fills this empty tree with hard links to the files of another tree, which is not changed. */
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

/**
 * Changes a tree from one state to another, touching only what differs. Files are never written in place, since another
 * tree may have a hard link to them. Only this process writes to a tree, and no step follows a link that a command has
 * left in it.
 */

const kOwn = 0o700;
const kAtOnce = 256;

const others = () => new Promise<void>((resolve) => setImmediate(resolve));

/** Received contents, by SHA-256. */
type Incoming = { readonly directory: string; readonly contents: Set<string> };

async function eachInTurn<Value>(
  values: Iterable<Value>,
  work: (value: Value) => void,
): Promise<void> {
  let count = 0;
  for (const value of values) {
    work(value);
    count += 1;
    if (count % kAtOnce === 0) await others();
  }
}

const setTimes = (path: string, { mtimeUs }: FileEntry) => {
  const seconds = mtimeUs / 1e6;
  utimesSync(path, seconds, seconds);
};

class Placer {
  readonly #tree: Beneath;
  readonly #from: Manifest;
  readonly #to: Manifest;
  readonly #incoming: Incoming;
  /** Number of entries that still need each content. */
  readonly #uses = new Map<string, number>();

  constructor(tree: Beneath, from: Manifest, to: Manifest, incoming: Incoming) {
    this.#tree = tree;
    this.#from = from;
    this.#to = to;
    this.#incoming = incoming;
  }

  async place(): Promise<void> {
    const { removed, set } = deltaOf(this.#from, this.#to);
    for (const entry of set) {
      if (entry.type !== "file") continue;
      this.#uses.set(entry.sha256, (this.#uses.get(entry.sha256) ?? 0) + 1);
    }
    await this.#keepContents(set);
    const inTheWay = set.filter(({ path, type }) => {
      const was = this.#from.find(path);
      return was !== undefined && was.type !== type;
    });
    const going = [...removed, ...inTheWay.map(({ path }) => path)].sort().reverse();
    await eachInTurn(going, (path) => this.#remove(path));
    this.#tree.rise();
    await eachInTurn(set, (entry) => this.#set(entry));
    await this.#setDirectoryModes(set);
  }

  /** Keeps contents that a file of the old state has and a file of the new state needs at another path. */
  async #keepContents(set: readonly Entry[]): Promise<void> {
    const { directory, contents } = this.#incoming;
    const needed = new Set<string>();
    for (const entry of set) {
      if (entry.type !== "file" || contents.has(entry.sha256)) continue;
      const was = this.#from.find(entry.path);
      if (was?.type !== "file" || was.sha256 !== entry.sha256) needed.add(entry.sha256);
    }
    if (needed.size === 0) return;
    await eachInTurn(this.#from.entries, (entry) => {
      if (entry.type !== "file" || !needed.delete(entry.sha256)) return;
      linkSync(this.#tree.nameOf(entry.path), join(directory, entry.sha256));
      contents.add(entry.sha256);
    });
  }

  #remove(path: string): void {
    const name = this.#tree.nameOf(path);
    if (this.#from.find(path)?.type === "directory") rmdirSync(name);
    else unlinkSync(name);
  }

  #set(entry: Entry): void {
    const { path, type } = entry;
    const was = this.#from.find(path);
    if (type === "directory") {
      if (was?.type !== "directory") mkdirSync(this.#tree.nameOf(path), kOwn);
    } else if (type === "symlink") {
      const name = this.#tree.nameOf(path);
      if (was?.type === "symlink") unlinkSync(name);
      symlinkSync(entry.target, name);
    } else if (was?.type === "file" && was.sha256 === entry.sha256) {
      this.#refurnish(entry);
    } else {
      this.#putFile(entry);
    }
  }

  /** Changes mode or time of a file whose content stays. */
  #refurnish(entry: FileEntry): void {
    const name = this.#tree.nameOf(entry.path);
    if (lstatSync(name).nlink === 1) {
      chmodSync(name, entry.mode);
      setTimes(name, entry);
      return;
    }
    this.#putCopy(entry, name);
  }

  #putFile(entry: FileEntry): void {
    const waiting = join(this.#incoming.directory, entry.sha256);
    const name = this.#tree.nameOf(entry.path);
    const uses = (this.#uses.get(entry.sha256) ?? 1) - 1;
    this.#uses.set(entry.sha256, uses);
    const isNeededYet = uses > 0 || lstatSync(waiting).nlink > 1;
    if (isNeededYet) {
      this.#putCopy(entry, waiting);
      return;
    }
    chmodSync(waiting, entry.mode);
    setTimes(waiting, entry);
    this.#take(waiting, entry, name);
    this.#incoming.contents.delete(entry.sha256);
  }

  #putCopy(entry: FileEntry, source: string): void {
    const copy = join(this.#incoming.directory, "copy");
    copyFileSync(source, copy, constants.COPYFILE_FICLONE);
    chmodSync(copy, entry.mode);
    setTimes(copy, entry);
    this.#take(copy, entry, this.#tree.nameOf(entry.path));
  }

  /**
   * Moves a file into place after removing the old one: ext4 writes the new bytes to disk before a rename(2) over an
   * existing file returns.
   */
  #take(file: string, { path }: FileEntry, name: string): void {
    if (this.#from.find(path)?.type === "file") unlinkSync(name);
    renameSync(file, name);
  }

  /**
   * Sets modes of directories, the deepest first: a directory without owner permissions is closed only after the ones
   * below it.
   */
  async #setDirectoryModes(set: readonly Entry[]): Promise<void> {
    const isSet = new Set(set.map(({ path }) => path));
    const last = this.#to.entries.filter(
      (entry) =>
        entry.type === "directory" && (isSet.has(entry.path) || (entry.mode & kOwn) !== kOwn),
    );
    await eachInTurn(last.reverse(), (entry) => {
      if (entry.type === "directory") fchmodSync(this.#tree.directory(entry.path), entry.mode);
    });
  }
}

/**
 * Changes the tree in `directory` from state `from` to state `to`, taking contents from `incoming`. If it rejects, the
 * state of the tree is unknown.
 */
async function place(
  directory: string,
  from: Manifest,
  to: Manifest,
  incoming: Incoming,
): Promise<void> {
  const tree = new Beneath(directory, { mayWrite: true });
  try {
    await new Placer(tree, from, to, incoming).place();
  } finally {
    tree.close();
  }
}

/** Gives the owner access to every directory: commands and overlayfs leave directories without any permissions. */
function open(directory: string): void {
  chmodSync(directory, 0o700);
  for (const { name } of readdirSync(directory, { withFileTypes: true }).filter((entry) =>
    entry.isDirectory(),
  )) {
    open(join(directory, name));
  }
}

/** Removes a tree of this process, whatever commands have left in it. Follows no link. */
export function removeTree(path: string): void {
  try {
    rmSync(path, { recursive: true, force: true });
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if ((code !== "EACCES" && code !== "ENOTEMPTY") || !lstatSync(path).isDirectory()) throw error;
    open(path);
    rmSync(path, { recursive: true, force: true });
  }
}
