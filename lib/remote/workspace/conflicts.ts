import { Beneath, digestOf, isSameDirectory, isSameStamp, type Stamp } from "./content/beneath.js";
import { comparePaths, kTop, parentOf } from "./content/entry.js";
import type { Delta } from "./content/manifest.js";
import type { Known, Snapshot } from "./snapshot.js";

const kGone: ReadonlySet<unknown> = new Set(["ENOENT", "ENOTDIR", "ELOOP"]);

/** Returns the state of an entry; undefined if it is gone, or its parent is no directory any more. */
function stampAt(tree: Beneath, path: string): Stamp | undefined {
  try {
    return tree.lstat(path);
  } catch (error) {
    if (kGone.has((error as NodeJS.ErrnoException).code)) return undefined;
    throw error;
  }
}

/** Compares a host's directory with a snapshot, at the paths to be changed. */
class Comparison {
  readonly #tree: Beneath;
  readonly #snapshot: Snapshot;
  readonly #parents = new Map<string, boolean>();

  constructor(tree: Beneath, snapshot: Snapshot) {
    this.#tree = tree;
    this.#snapshot = snapshot;
  }

  /** True if the entry and its parents are unchanged. */
  async isAsBefore(path: string): Promise<boolean> {
    const known = this.#snapshot.known(path);
    const now = stampAt(this.#tree, path);
    if (!this.#isWayAsBefore(parentOf(path))) return false;
    if (known === undefined || now === undefined) return known === undefined && now === undefined;
    if (known.entry === undefined) return false; // not sent to the worker
    if (known.entry.type === "directory") return isSameDirectory(known.stamp, now);
    return isSameStamp(known.stamp, now) && (await this.#hasContent(path, known));
  }

  /** True if the content is unchanged; reads the file if its stamp is no proof. */
  async #hasContent(path: string, { isProof, entry }: Known): Promise<boolean> {
    if (isProof || entry?.type !== "file") return true;
    try {
      return (await digestOf(this.#tree, path)).sha256 === entry.sha256;
    } catch {
      return false;
    }
  }

  /**
   * True if the directories on the way are unchanged. A directory missing from the snapshot will be made, and is a path
   * of the delta itself.
   */
  #isWayAsBefore(path: string): boolean {
    const asked = this.#parents.get(path);
    if (asked !== undefined) return asked;
    const known = this.#snapshot.known(path);
    const now = known && stampAt(this.#tree, path);
    const isSame = known === undefined || (now !== undefined && isSameDirectory(known.stamp, now));
    const answer = isSame && (path === kTop || this.#isWayAsBefore(parentOf(path)));
    this.#parents.set(path, answer);
    return answer;
  }

  /** Returns entries of a directory that were not sent to the worker. */
  newIn(path: string): string[] {
    try {
      const below = this.#tree.list(path).map((name) => (path === kTop ? name : `${path}/${name}`));
      return below.filter((each) => this.#snapshot.known(each)?.entry === undefined);
    } catch (error) {
      if (kGone.has((error as NodeJS.ErrnoException).code)) return [];
      throw error;
    }
  }
}

/**
 * Returns the paths of a delta that differ from the snapshot (content, mode, type, a replacement with equal content, a
 * directory on the way), and new entries in directories that are to be removed.
 */
export async function conflictsOf(
  directory: string,
  snapshot: Snapshot,
  { removed, set }: Delta,
): Promise<string[]> {
  const tree = new Beneath(directory);
  try {
    const comparison = new Comparison(tree, snapshot);
    const conflicts = new Set<string>();
    for (const path of [...removed, ...set.map((entry) => entry.path)]) {
      if (!(await comparison.isAsBefore(path))) conflicts.add(path);
    }
    const isKept = new Set(set.flatMap(({ path, type }) => (type === "directory" ? [path] : [])));
    for (const path of [...removed, ...set.map((entry) => entry.path)]) {
      const was = snapshot.known(path)?.entry;
      if (was?.type !== "directory" || isKept.has(path)) continue;
      for (const each of comparison.newIn(path)) conflicts.add(each);
    }
    return [...conflicts].sort(comparePaths);
  } finally {
    tree.close();
  }
}
