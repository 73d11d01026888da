import { Beneath, digestOf, isSameDirectory, isSameStamp, type Stamp } from "./content/beneath.js";
import { comparePaths, kTop, parentOf } from "./content/entry.js";
import type { Delta } from "./content/manifest.js";
import type { Known, Snapshot } from "./snapshot.js";

const kGone: ReadonlySet<unknown> = new Set(["ENOENT", "ENOTDIR", "ELOOP"]);

/** undefined: nothing is there, or it is in what is no directory any more. */
function stampAt(tree: Beneath, path: string): Stamp | undefined {
  try {
    return tree.lstat(path);
  } catch (error) {
    if (kGone.has((error as NodeJS.ErrnoException).code)) return undefined;
    throw error;
  }
}

/** What a host's directory looks like after a snapshot, at the paths that are to be changed. */
class Comparison {
  readonly #tree: Beneath;
  readonly #snapshot: Snapshot;
  readonly #parents = new Map<string, boolean>();

  constructor(tree: Beneath, snapshot: Snapshot) {
    this.#tree = tree;
    this.#snapshot = snapshot;
  }

  /** Whether it is as it was, and so is the way there. */
  async isAsBefore(path: string): Promise<boolean> {
    const known = this.#snapshot.known(path);
    const now = stampAt(this.#tree, path);
    if (!this.#isWayAsBefore(parentOf(path))) return false;
    if (known === undefined || now === undefined) return known === undefined && now === undefined;
    if (known.entry === undefined) return false; // the worker could not know of it
    if (known.entry.type === "directory") return isSameDirectory(known.stamp, now);
    return isSameStamp(known.stamp, now) && (await this.#hasContent(path, known));
  }

  /** Where the stamp alone does not show it. */
  async #hasContent(path: string, { isProof, entry }: Known): Promise<boolean> {
    if (isProof || entry?.type !== "file") return true;
    try {
      return (await digestOf(this.#tree, path)).sha256 === entry.sha256;
    } catch {
      return false;
    }
  }

  /** A directory that there was not is to be made, and is a path of the change itself. */
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

  /** What a directory has that the worker could not know of. */
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
 * Which of the paths of a change are not what they were when the snapshot was taken: content, mode, type,
 * a replacement of the same look, a directory on the way; and what is new in a directory that is to go.
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
