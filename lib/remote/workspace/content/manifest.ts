import { createHash } from "node:crypto";

import { badMessage, WorkspaceError } from "../workspace-error.js";
import { type Entry, recordsOf, textOf } from "./entry.js";
import { comparePaths, kTop, parentOf } from "./paths.js";

/** How much a workspace may hold. */
export type Bounds = {
  /** Entries. */
  readonly maxEntries: number;
  /** Bytes of its files. */
  readonly maxBytes: number;
};

/** What a workspace holds at one moment: its entries in canonical order. Immutable. */
export class Manifest {
  readonly entries: readonly Entry[];
  #text: string | undefined;
  #id: string | undefined;
  #bytes: number | undefined;

  private constructor(entries: readonly Entry[]) {
    this.entries = entries;
  }

  /** Of nothing but an empty directory, which nobody but its owner may enter. */
  static readonly empty = new Manifest([{ type: "directory", path: kTop, mode: 0o700 }]);

  /** Of entries that this process has looked at or checked, in any order. */
  static of(entries: readonly Entry[]): Manifest {
    return new Manifest([...entries].sort((one, other) => comparePaths(one.path, other.path)));
  }

  /** Of such entries as are in canonical order already. */
  static ofSorted(entries: readonly Entry[]): Manifest {
    return new Manifest(entries);
  }

  /**
   * Of what another machine has sent. Paths lead nowhere but below the workspace, each is there once,
   * and what holds another entry is a directory.
   * @throws WorkspaceError ERR_WORKSPACE_MESSAGE, or ERR_WORKSPACE_LIMIT where it is over the bounds.
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

  /** @throws as {@link parse}: entries from elsewhere that are no tree. */
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

  /** @throws WorkspaceError ERR_WORKSPACE_LIMIT */
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

  /** The one at a path. */
  find(path: string): Entry | undefined {
    const entry = this.entries[this.#placeOf(path)];
    return entry?.path === path ? entry : undefined;
  }

  /** Whether something lies below a path. */
  hasBelow(path: string): boolean {
    const at = this.#placeOf(path);
    const next = this.entries[this.entries[at]?.path === path ? at + 1 : at];
    return next?.path.startsWith(`${path}/`) ?? false;
  }

  /** The index of the entry, or of the first one behind it. */
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

  /** Its canonical text; the same entries have the same, wherever it is made. */
  get text(): string {
    this.#text ??= this.entries.map(textOf).join("");
    return this.#text;
  }

  /** The SHA-256 of the text, as 64 hexadecimal digits. */
  get id(): string {
    this.#id ??= createHash("sha256").update(this.text).digest("hex");
    return this.#id;
  }

  /** Of all files. */
  get bytes(): number {
    this.#bytes ??= this.entries.reduce(
      (sum, entry) => sum + (entry.type === "file" ? entry.size : 0),
      0,
    );
    return this.#bytes;
  }
}
