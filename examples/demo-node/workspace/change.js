import path from "node:path";

import { isSame } from "./entry.js";

/**
 * @typedef {import("./entry.js").Entry} Entry
 * @typedef {import("./snapshot.js").Snapshot} Snapshot
 * @typedef {{ place: string, before: Entry | undefined, after: Entry | undefined }} Change
 */

/**
 * What became of `before`, sorted by path. Where the snapshot of now left something out, nothing is
 * known, and so nothing has changed.
 *
 * @param {Map<string, Entry>} before
 * @param {Snapshot} now
 * @returns {Change[]}
 */
export function changesBetween(before, now) {
  const unknown = new Set(now.leftOut.map(({ place }) => place));
  /** @type {Change[]} */
  const changes = [];
  for (const place of new Set([...before.keys(), ...now.entries.keys()])) {
    if (isUnknown(place, unknown)) continue;
    const change = { place, before: before.get(place), after: now.entries.get(place) };
    if (!isSame(change.before, change.after)) changes.push(change);
  }
  return changes.sort((one, other) => (one.place < other.place ? -1 : 1));
}

/**
 * @param {string} place
 * @param {Set<string>} unknown
 */
function isUnknown(place, unknown) {
  if (unknown.has("")) return true; // not even the root could be read
  return [...ancestorsOf(place), place].some((each) => unknown.has(each));
}

/**
 * The directories above a path, the topmost first, without the root.
 * @param {string} place
 */
export function ancestorsOf(place) {
  const parts = place.split("/");
  return parts.slice(1).map((_, index) => parts.slice(0, index + 1).join("/"));
}

/**
 * The changes to tell people of: directories only where nothing else tells of them.
 * @param {readonly Change[]} changes
 */
export function notableChanges(changes) {
  const parents = new Set(changes.map(({ place }) => path.dirname(place)));
  return changes.filter(
    ({ place, before, after }) => (before ?? after)?.kind !== "directory" || !parents.has(place),
  );
}
