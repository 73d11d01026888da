import { lstat } from "node:fs/promises";
import path from "node:path";

import { ancestorsOf } from "./change.js";
import { isSame, readEntry } from "./entry.js";

/**
 * @typedef {import("./change.js").Change} Change
 * @typedef {{ place: string, reason: string }} Conflict
 */

/**
 * @param {import("./entry.js").Entry | undefined} before
 * @param {Awaited<ReturnType<typeof readEntry>>} now
 */
function reasonFor(before, now) {
  if (before === undefined) return "exists in the project, but not in the copy that was made";
  if (now === undefined) return "was deleted in the project meanwhile";
  if (now.kind === "other") return `${now.reason} in the project`;
  return now.kind === before.kind
    ? "was changed in the project meanwhile"
    : `became a ${now.kind} in the project meanwhile`;
}

/**
 * The topmost directory above a path that is none in the project (a link that leads elsewhere, a
 * file), unless the changes are about to replace it.
 * @param {string} project
 * @param {string} place
 * @param {Set<string>} changed
 */
async function foreignAncestor(project, place, changed) {
  for (const ancestor of ancestorsOf(place)) {
    const stat = await lstat(path.join(project, ancestor)).catch(() => undefined);
    if (stat === undefined || changed.has(ancestor)) return undefined;
    if (!stat.isDirectory()) return ancestor;
  }
  return undefined;
}

/**
 * Holds changes against the project as it is now: what stands in their way, since it is no longer as
 * it was when the copy was made, and what is left to do, since some may already be as it is to be.
 *
 * @param {string} project
 * @param {readonly Change[]} changes
 * @returns {Promise<{ conflicts: Conflict[], pending: Change[] }>}
 */
export async function compareWithProject(project, changes) {
  const changed = new Set(changes.map(({ place }) => place));
  /** @type {Conflict[]} */
  const conflicts = [];
  /** @type {Change[]} */
  const pending = [];
  for (const change of changes) {
    const { place, before, after } = change;
    const foreign = await foreignAncestor(project, place, changed);
    if (foreign !== undefined) {
      conflicts.push({ place, reason: `${foreign} is no directory in the project` });
      continue;
    }
    const now = await readEntry(path.join(project, place));
    if (isSame(now, after)) continue;
    if (isSame(now, before)) pending.push(change);
    else conflicts.push({ place, reason: reasonFor(before, now) });
  }
  return { conflicts, pending };
}
