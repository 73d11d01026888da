/** What makes one state of a workspace another one: also how what a command has changed is told. */

import { badMessage } from "../workspace-error.js";
import { type Entry, recordsOf, textOf, textOfGone } from "./entry.js";
import { type Bounds, Manifest } from "./manifest.js";
import { comparePaths, kTop, parentOf } from "./paths.js";

/** In canonical order, no path twice. */
export type Delta = {
  /** Paths where nothing is any more. */
  readonly removed: readonly string[];
  /** What is there now, new or otherwise than before. */
  readonly set: readonly Entry[];
};

function isSame(one: Entry, other: Entry): boolean {
  return one === other || textOf(one) === textOf(other);
}

/** Of two manifests. */
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

/** Its canonical text. */
export function textOfDelta({ removed, set }: Delta): string {
  return removed.map(textOfGone).join("") + set.map(textOf).join("");
}

function inOrder(paths: readonly string[]): boolean {
  return paths.every((path, at) => at === 0 || comparePaths(paths[at - 1] ?? "", path) < 0);
}

/**
 * Of what another machine has sent; whether it fits is known when it is applied.
 * @throws WorkspaceError ERR_WORKSPACE_MESSAGE
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
 * The state that a change makes of another one.
 * @throws WorkspaceError ERR_WORKSPACE_MESSAGE where something is removed that was not there, or the
 * result is no tree; ERR_WORKSPACE_LIMIT where it is over the bounds.
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

/** What a change leaves of a tree is one where it keeps to this; nothing else has to be looked at. */
function expectTree(manifest: Manifest, { removed, set }: Delta): void {
  for (const { path, type } of set) {
    const isIn = path === kTop || manifest.find(parentOf(path))?.type === "directory";
    if (isIn && (type === "directory" || !manifest.hasBelow(path))) continue;
    throw badMessage(`an entry in what is no directory: ${JSON.stringify(path)}`);
  }
  const open = removed.find((path) => path === kTop || manifest.hasBelow(path));
  if (open !== undefined) throw badMessage(`the end of a directory alone: ${JSON.stringify(open)}`);
}
