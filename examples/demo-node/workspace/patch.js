import { isUtf8 } from "node:buffer";
import { open } from "node:fs/promises";
import path from "node:path";
import { FILE_HEADERS_ONLY, formatPatch, structuredPatch } from "diff";

import { kOpenFlags } from "./entry.js";
import { kMaxDiffBytes } from "./limits.js";

/**
 * @typedef {import("./change.js").Change} Change
 * @typedef {import("./entry.js").Entry} Entry
 * @typedef {{ text: string, added: number, removed: number } | { note: string }} Patch
 */

/**
 * The text of one side; undefined where it is none.
 * @param {string} file
 * @param {Entry | undefined} entry
 */
async function textOf(file, entry) {
  if (entry?.kind === "link") return `${entry.target}\n`;
  if (entry?.kind !== "file") return "";
  if (entry.size > kMaxDiffBytes) return undefined;
  const handle = await open(file, kOpenFlags).catch(() => undefined);
  if (handle === undefined) return "";
  try {
    if (!(await handle.stat()).isFile()) return undefined; // no longer what it was
    const bytes = await handle.readFile();
    return isUtf8(bytes) && !bytes.includes(0) ? bytes.toString() : undefined;
  } finally {
    await handle.close();
  }
}

/** @param {Entry | undefined} entry */
function nameOf(entry) {
  if (entry === undefined) return "nothing";
  if (entry.kind === "file") return `${entry.executable ? "executable, " : ""}${entry.size} bytes`;
  return entry.kind === "link" ? `link to ${entry.target}` : "directory";
}

/**
 * A change as a unified diff against the project as it is now, or in words where there is no text,
 * or where comparing takes longer than `timeoutMs`: too different to be worth reading.
 *
 * @param {Change} change
 * @param {{ project: string, shadow: string }} places
 * @param {number} timeoutMs
 * @returns {Promise<Patch>}
 */
export async function patchOf({ place, before, after }, { project, shadow }, timeoutMs) {
  const note = { note: `${nameOf(before)} -> ${nameOf(after)}` };
  if (before?.kind === "directory" || after?.kind === "directory") return note;
  const old = await textOf(path.join(project, place), before);
  const now = await textOf(path.join(shadow, place), after);
  if (old === undefined || now === undefined || old === now) return note;
  const from = before === undefined ? "/dev/null" : `a/${place}`;
  const to = after === undefined ? "/dev/null" : `b/${place}`;
  const patch = structuredPatch(from, to, old, now, "", "", { context: 3, timeout: timeoutMs });
  if (patch === undefined) return note;
  const lines = patch.hunks.flatMap((hunk) => hunk.lines);
  return {
    text: formatPatch(patch, FILE_HEADERS_ONLY),
    added: lines.filter((line) => line.startsWith("+")).length,
    removed: lines.filter((line) => line.startsWith("-")).length,
  };
}
