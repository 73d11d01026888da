import { createHash } from "node:crypto";

import { badMessage, WorkspaceError } from "../exchange.js";
import {
  comparePaths,
  type Entry,
  kTop,
  parentOf,
  recordsOf,
  textOf,
  textOfGone,
} from "./entry.js";

/** Limits of a workspace. */
export type Bounds = {
  /** Entries. */
  readonly maxEntries: number;
  /** Bytes of all files. */
  readonly maxBytes: number;
};

/** The contents of a workspace at one moment: its entries in canonical order. Immutable. */
export class Manifest {
  readonly entries: readonly Entry[];
  #text: string | undefined;
  #id: string | undefined;
  #bytes: number | undefined;

  private constructor(entries: readonly Entry[]) {
    this.entries = entries;
  }

  /** An empty directory that only its owner may enter. */
  static readonly empty = new Manifest([{ type: "directory", path: kTop, mode: 0o700 }]);

  /** Returns a manifest of entries that this process has read or checked, in any order. */
  static of(entries: readonly Entry[]): Manifest {
    return new Manifest([...entries].sort((one, other) => comparePaths(one.path, other.path)));
  }

  /** Returns a manifest of such entries that are already in canonical order. */
  static ofSorted(entries: readonly Entry[]): Manifest {
    return new Manifest(entries);
  }

  /**
   * Parses a manifest of another machine. All paths lie below the workspace, each occurs once, and every parent is a
   * directory.
   * @throws WorkspaceError ERR_WORKSPACE_MESSAGE, or ERR_WORKSPACE_LIMIT beyond the bounds
   */
  static parse(text: string, bounds: Bounds): Manifest {
    const entries = recordsOf(text, bounds.maxEntries).map(({ path, entry }) => {
      if (entry === undefined) throw badMessage(`an entry without a kind: ${JSON.stringify(path)}`);
      return entry;
    });
    const manifest = new Manifest(entries);
    manifest.expectTree(bounds);
    return manifest;
  }

  /** @throws as {@link parse}: received entries that form no tree */
  private expectTree(bounds: Bounds): void {
    const directories = new Set<string>();
    let before: string | undefined;
    for (const { path, type } of this.entries) {
      if (before !== undefined && comparePaths(before, path) >= 0) {
        throw badMessage(`a path twice or out of order: ${JSON.stringify(path)}`);
      }
      before = path;
      if (type === "directory") directories.add(path);
    }
    if (!directories.has(kTop)) throw badMessage("a tree without a top");
    for (const { path } of this.entries) {
      if (directories.has(parentOf(path))) continue;
      throw badMessage(`an entry in what is no directory: ${JSON.stringify(path)}`);
    }
    this.expectWithin(bounds);
  }

  /** @throws WorkspaceError ERR_WORKSPACE_LIMIT beyond the bounds */
  expectWithin({ maxEntries, maxBytes }: Bounds): void {
    const { length } = this.entries;
    if (length > maxEntries) {
      const message = `the workspace has ${length} entries, ${maxEntries} are allowed`;
      throw new WorkspaceError(message, "ERR_WORKSPACE_LIMIT");
    }
    if (this.bytes > maxBytes) {
      const message = `the workspace's files have ${this.bytes} bytes, ${maxBytes} are allowed`;
      throw new WorkspaceError(message, "ERR_WORKSPACE_LIMIT");
    }
  }

  /** Returns the entry at a path. */
  find(path: string): Entry | undefined {
    const entry = this.entries[this.#placeOf(path)];
    return entry?.path === path ? entry : undefined;
  }

  /** True if an entry exists below a path. */
  hasBelow(path: string): boolean {
    const at = this.#placeOf(path);
    const next = this.entries[this.entries[at]?.path === path ? at + 1 : at];
    return next?.path.startsWith(`${path}/`) ?? false;
  }

  /** Returns the index of the entry, or of the first one after it. */
  #placeOf(path: string): number {
    let low = 0;
    let high = this.entries.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (comparePaths(this.entries[middle]?.path ?? "", path) < 0) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  /** Canonical text; equal entries give equal text on every machine. */
  get text(): string {
    this.#text ??= this.entries.map(textOf).join("");
    return this.#text;
  }

  /** SHA-256 of the text, as 64 hexadecimal digits. */
  get id(): string {
    this.#id ??= createHash("sha256").update(this.text).digest("hex");
    return this.#id;
  }

  /** Bytes of all files. */
  get bytes(): number {
    this.#bytes ??= this.entries.reduce(
      (sum, entry) => sum + (entry.type === "file" ? entry.size : 0),
      0,
    );
    return this.#bytes;
  }
}

/** The difference between two states of a workspace, also used to send a command's changes. */

/** A difference in canonical order, without duplicate paths. */
export type Delta = {
  /** Removed paths. */
  readonly removed: readonly string[];
  /** Entries that are new or changed. */
  readonly set: readonly Entry[];
};

function isSame(one: Entry, other: Entry): boolean {
  return one === other || textOf(one) === textOf(other);
}

/** Returns the difference between two manifests. */
export function deltaOf(from: Manifest, to: Manifest): Delta {
  const removed: string[] = [];
  const set: Entry[] = [];
  let at = 0;
  for (const entry of to.entries) {
    let was = from.entries[at];
    if (was === entry) {
      at += 1;
      continue;
    }
    while (was !== undefined && comparePaths(was.path, entry.path) < 0) {
      removed.push(was.path);
      at += 1;
      was = from.entries[at];
    }
    const isThere = was?.path === entry.path;
    if (isThere) at += 1;
    if (!was || !isThere || !isSame(was, entry)) set.push(entry);
  }
  for (const { path } of from.entries.slice(at)) removed.push(path);
  return { removed, set };
}

/** Returns a delta's canonical text. */
export function textOfDelta({ removed, set }: Delta): string {
  return removed.map(textOfGone).join("") + set.map(textOf).join("");
}

function inOrder(paths: readonly string[]): boolean {
  return paths.every((path, at) => at === 0 || comparePaths(paths[at - 1] ?? "", path) < 0);
}

/**
 * Parses a delta of another machine. `applied` checks that it fits.
 * @throws WorkspaceError ERR_WORKSPACE_MESSAGE for a malformed text
 */
export function parseDelta(text: string, bounds: Bounds): Delta {
  const removed: string[] = [];
  const set: Entry[] = [];
  for (const { path, entry } of recordsOf(text, 2 * bounds.maxEntries)) {
    if (entry === undefined) removed.push(path);
    else set.push(entry);
  }
  const gone = new Set(removed);
  const isOrdered = inOrder(removed) && inOrder(set.map(({ path }) => path));
  if (!isOrdered || set.some(({ path }) => gone.has(path))) {
    throw badMessage("a path twice or out of order");
  }
  return { removed, set };
}

/**
 * Returns the state after a delta.
 * @throws WorkspaceError ERR_WORKSPACE_MESSAGE if a removed path does not exist, or the result is no tree;
 * ERR_WORKSPACE_LIMIT beyond the bounds
 */
export function applied(from: Manifest, { removed, set }: Delta, bounds: Bounds): Manifest {
  const missing = removed.find((path) => from.find(path) === undefined);
  if (missing !== undefined) throw badMessage(`the end of what is not there: ${missing}`);
  const gone = new Set(removed);
  const entries: Entry[] = [];
  let at = 0;
  for (const entry of from.entries) {
    let next = set[at];
    while (next !== undefined && comparePaths(next.path, entry.path) < 0) {
      entries.push(next);
      at += 1;
      next = set[at];
    }
    const isReplaced = next?.path === entry.path;
    if (!isReplaced && !gone.has(entry.path)) entries.push(entry);
  }
  const manifest = Manifest.ofSorted(entries.concat(set.slice(at)));
  expectTree(manifest, { removed, set });
  manifest.expectWithin(bounds);
  return manifest;
}

/** Checks that a delta keeps a tree a tree; entries outside the delta need no check. */
function expectTree(manifest: Manifest, { removed, set }: Delta): void {
  for (const { path, type } of set) {
    const isIn = path === kTop || manifest.find(parentOf(path))?.type === "directory";
    if (isIn && (type === "directory" || !manifest.hasBelow(path))) continue;
    throw badMessage(`an entry in what is no directory: ${JSON.stringify(path)}`);
  }
  const open = removed.find((path) => path === kTop || manifest.hasBelow(path));
  if (open !== undefined) throw badMessage(`the end of a directory alone: ${JSON.stringify(open)}`);
}
