import path from "node:path";

import { Failure } from "../failure.js";
import { readEntry } from "./entry.js";
import { kMaxTreeBytes } from "./limits.js";
import { leavesTree } from "./link.js";
import { walk } from "./walk.js";

/**
 * @typedef {import("./entry.js").Entry} Entry
 * @typedef {import("./copy.js").LeftOut} LeftOut
 * @typedef {{ entries: Map<string, Entry>, leftOut: LeftOut[] }} Snapshot
 */

/**
 * What is in a tree now. Links that leave it, special files and what can't be read are left out: a
 * commit never carries them.
 *
 * @param {string} root
 * @param {import("./ignore-rules.js").IgnoreRules} rules
 * @returns {Promise<Snapshot>}
 */
export async function takeSnapshot(root, rules) {
  /** @type {Snapshot} */
  const snapshot = { entries: new Map(), leftOut: [] };
  let bytes = 0;
  for await (const step of walk(root, rules)) {
    const { place } = step;
    if ("reason" in step) {
      snapshot.leftOut.push(step);
      continue;
    }
    const entry = await readEntry(path.join(root, place));
    if (entry === undefined) continue;
    if (entry.kind === "other") {
      snapshot.leftOut.push({ place, reason: entry.reason });
    } else if (entry.kind === "link" && leavesTree(place, entry.target)) {
      snapshot.leftOut.push({ place, reason: `a link that leaves the project (${entry.target})` });
    } else {
      snapshot.entries.set(place, entry);
      bytes += entry.kind === "file" ? entry.size : 0;
    }
    if (bytes > kMaxTreeBytes) throw new Failure(`${root} holds too much to be compared`);
  }
  return snapshot;
}
