import pc from "picocolors";

import { notableChanges, originOf } from "../workspace/change.js";
import { plainLine, plainText } from "./plain-text.js";

/**
 * @typedef {import("../workspace/change.js").Change} Change
 * @typedef {import("../workspace/project.js").Matter} Matter
 * @typedef {import("../workspace/project.js").Project} Project
 */

const kLetters = new Map([
  ["added", pc.green("A")],
  ["modified", pc.yellow("M")],
  ["deleted", pc.red("D")],
  ["renamed", pc.cyan("R")],
]);

/** Lines of a list; a command may have changed any number of files. */
const kMaxListed = 200;

/** Changes of which the lines are counted; of more only the sizes are told. */
const kMaxCounted = 50;

/**
 * How many lines a patch adds and takes away; undefined where it has no lines.
 * @param {string} patch of one file
 */
export function lineCounts(patch) {
  if (!patch.includes("\n@@ ")) return undefined;
  const lines = patch.slice(patch.indexOf("\n@@ ")).split("\n");
  return {
    added: lines.filter((line) => line.startsWith("+")).length,
    removed: lines.filter((line) => line.startsWith("-")).length,
  };
}

/**
 * The same of a patch of several files; those without lines count for none.
 * @param {string} patch
 */
export function patchCounts(patch) {
  const counts = patch.split(/^(?=diff --git )/m).map(lineCounts);
  return {
    added: counts.reduce((sum, each) => sum + (each?.added ?? 0), 0),
    removed: counts.reduce((sum, each) => sum + (each?.removed ?? 0), 0),
  };
}

/** @param {Change} change */
function sizesOf({ kind, type, size, previousSize, mode, previousMode, target }) {
  if (target !== undefined) return `link to ${plainLine(target)}`;
  if (type === "directory") return "directory";
  if (mode !== previousMode && size === previousSize) {
    return `mode ${(previousMode & 0o7777).toString(8)} -> ${(mode & 0o7777).toString(8)}`;
  }
  const before = kind === "added" ? "nothing" : `${previousSize} bytes`;
  return `${before} -> ${kind === "deleted" ? "nothing" : `${size} bytes`}`;
}

/**
 * @param {Change} change
 * @param {Project} project
 * @param {boolean} isCounted
 */
async function detailOf(change, project, isCounted) {
  const isText = isCounted && change.type === "file" && change.target === undefined;
  const counts = isText
    ? await project.diff([change.path]).then(lineCounts, () => undefined) // too large for that
    : undefined;
  if (counts === undefined) return pc.dim(sizesOf(change));
  return `${pc.green(`+${counts.added}`)} ${pc.red(`-${counts.removed}`)}`;
}

/**
 * One line for each change.
 * @param {readonly Change[]} changes
 * @param {Project} project
 */
export async function changeList(changes, project) {
  const told = notableChanges(changes);
  let text = "";
  for (const change of told.slice(0, kMaxListed)) {
    const detail = await detailOf(change, project, told.length <= kMaxCounted);
    const origin = originOf(change).map((from) => `${plainLine(from)} -> `);
    const name = `${origin.join("")}${plainLine(change.path)}`;
    text += `  ${kLetters.get(change.kind) ?? "?"} ${name}  ${detail}\n`;
  }
  const more = told.length - kMaxListed;
  return more > 0 ? `${text}  ... and ${more} more\n` : text;
}

/** @param {string} line */
function paint(line) {
  if (line.startsWith("diff --git ")) return pc.bold(line);
  if (line.startsWith("+")) return pc.green(line);
  if (line.startsWith("-")) return pc.red(line);
  return line.startsWith("@@") ? pc.cyan(line) : line;
}

/**
 * A patch for people.
 * @param {string} patch
 */
export function patchText(patch) {
  return plainText(patch).split("\n").map(paint).join("\n");
}

/**
 * One line for each path and what is the matter with it.
 * @param {readonly Matter[]} matters
 */
export function matterList(matters) {
  return matters
    .map(({ place, reason }) => `  ${plainLine(place || ".")}: ${plainLine(reason)}\n`)
    .join("");
}
