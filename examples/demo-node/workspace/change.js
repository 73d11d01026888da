import path from "node:path";

import { leavesTree } from "./link.js";

/** @typedef {import("@openagentic/native-runner").Change} Change */

/**
 * Why a change never reaches the project; undefined for one that may.
 * @param {Change} change
 */
export function whyNever({ path: place, type, mode, target }) {
  if (mode === 0) return undefined; // what was there is gone
  if (type === "other") return "not a file, directory or link";
  if (target !== undefined && leavesTree(place, target)) {
    return `a link that leaves the project (${target})`;
  }
  return undefined;
}

/**
 * The changes that may be committed, and the others.
 * @param {readonly Change[]} changes
 */
export function sortOut(changes) {
  /** @type {Change[]} */
  const changed = [];
  /** @type {{ place: string, reason: string }[]} */
  const leftOut = [];
  for (const change of changes) {
    const reason = whyNever(change);
    if (reason === undefined) changed.push(change);
    else leftOut.push({ place: change.path, reason });
  }
  return { changes: changed, leftOut };
}

/**
 * Where it was, of a change that was told of as a renaming.
 * @param {Change & { from?: string }} change
 */
export const originOf = ({ from }) => (from === undefined ? [] : [from]);

/**
 * Paths that name these changes and none of those that are left out: a path stands for all below it,
 * so that a directory is named by itself only where nothing else in it is left out.
 *
 * @param {readonly Change[]} changes
 * @param {readonly { place: string }[]} leftOut
 */
export function pathsOf(changes, leftOut) {
  const holds = new Set(leftOut.flatMap(({ place }) => ancestorsOf(place)));
  return changes
    .flatMap((change) => [change.path, ...originOf(change)])
    .filter((place) => !holds.has(place));
}

/**
 * The directories above a path, and the root.
 * @param {string} place
 */
function ancestorsOf(place) {
  const above = ["."];
  for (let each = path.dirname(place); each !== "."; each = path.dirname(each)) above.push(each);
  return above;
}

/**
 * The changes to tell people of: directories only where nothing else tells of them.
 * @param {readonly Change[]} changes
 */
export function notableChanges(changes) {
  const parents = new Set(changes.map((change) => path.dirname(change.path)));
  return changes.filter(
    ({ path: place, type, kind }) =>
      type !== "directory" || kind === "modified" || !parents.has(place),
  );
}
