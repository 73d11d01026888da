import pc from "picocolors";

import { notableChanges } from "../workspace/change.js";
import { patchOf } from "../workspace/patch.js";
import { plainLine, plainText } from "./plain-text.js";

/**
 * @typedef {import("../workspace/change.js").Change} Change
 * @typedef {import("../workspace/copy.js").LeftOut} LeftOut
 * @typedef {import("../workspace/conflict.js").Conflict} Conflict
 * @typedef {{ project: string, shadow: string }} Places
 */

/** @param {Change} change */
function letterOf({ before, after }) {
  if (before === undefined) return pc.green("A");
  return after === undefined ? pc.red("D") : pc.yellow("M");
}

/**
 * @param {import("../workspace/patch.js").Patch} patch
 */
function sizeOf(patch) {
  if ("note" in patch) return pc.dim(patch.note);
  return `${pc.green(`+${patch.added}`)} ${pc.red(`-${patch.removed}`)}`;
}

/** Lines of a list; a command may have changed any number of files. */
const kMaxListed = 200;

/** Milliseconds for comparing two files, and all files of a report. */
const kOneMs = 1000;
const kAllMs = 5000;

/**
 * The patches of changes, within bounds of time.
 * @param {readonly Change[]} changes
 * @param {Places} places
 */
async function* patches(changes, places) {
  const end = performance.now() + kAllMs;
  for (const change of changes) {
    const left = Math.max(1, end - performance.now());
    yield { change, patch: await patchOf(change, places, Math.min(kOneMs, left)) };
  }
}

/**
 * One line for each change.
 * @param {readonly Change[]} changes
 * @param {Places} places
 */
export async function changeList(changes, places) {
  const told = notableChanges(changes);
  let text = "";
  for await (const { change, patch } of patches(told.slice(0, kMaxListed), places)) {
    text += `  ${letterOf(change)} ${plainLine(change.place)}  ${sizeOf(patch)}\n`;
  }
  const more = told.length - kMaxListed;
  return more > 0 ? `${text}  ... and ${more} more\n` : text;
}

/** @param {string} line */
function paint(line) {
  if (line.startsWith("+")) return pc.green(line);
  if (line.startsWith("-")) return pc.red(line);
  return line.startsWith("@@") ? pc.cyan(line) : line;
}

/**
 * All changes as unified diffs.
 * @param {readonly Change[]} changes
 * @param {Places} places
 */
export async function changePatch(changes, places) {
  let text = "";
  for await (const { change, patch } of patches(notableChanges(changes), places)) {
    if ("note" in patch) text += `${letterOf(change)} ${plainLine(change.place)}: ${patch.note}\n`;
    else text += plainText(patch.text).split("\n").map(paint).join("\n");
  }
  return text;
}

/**
 * One line for each path and what is the matter with it.
 * @param {readonly (LeftOut | Conflict)[]} matters
 */
export function matterList(matters) {
  return matters
    .map(({ place, reason }) => `  ${plainLine(place || ".")}: ${plainLine(reason)}\n`)
    .join("");
}
