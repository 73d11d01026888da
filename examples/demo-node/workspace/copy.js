import { constants } from "node:fs";
import { chmod, copyFile, mkdir, readlink, symlink } from "node:fs/promises";
import path from "node:path";

import { codeOf, Failure } from "../failure.js";
import { IgnoreRules } from "./ignore-rules.js";
import { kMaxFileBytes, kMaxTreeBytes } from "./limits.js";
import { leavesTree } from "./link.js";
import { walk } from "./walk.js";

/** @typedef {{ place: string, reason: string }} LeftOut */

/** Shares blocks where the file system can (btrfs, XFS …), else copies bytes. Never a hard link. */
const kCopyMode = constants.COPYFILE_FICLONE | constants.COPYFILE_EXCL;

/**
 * @param {string} from
 * @param {string} to
 * @param {import("node:fs").Stats} stat of `from`
 */
async function copyRegularFile(from, to, stat) {
  await copyFile(from, to, kCopyMode);
  await chmod(to, (stat.mode & 0o777) | 0o600);
}

/**
 * Copies one step of a walk, or says why not.
 * @param {string} source
 * @param {string} target
 * @param {{ place: string, stat: import("node:fs").Stats }} step
 * @returns {Promise<string | undefined>}
 */
async function copyStep(source, target, { place, stat }) {
  const from = path.join(source, place);
  const to = path.join(target, place);
  if (stat.isDirectory()) {
    await mkdir(to);
  } else if (stat.isSymbolicLink()) {
    const link = await readlink(from);
    if (leavesTree(place, link)) return `a link that leaves the project (${link})`;
    await symlink(link, to);
  } else if (!stat.isFile()) {
    return "not a file, directory or link";
  } else if (stat.size > kMaxFileBytes) {
    return "too large";
  } else {
    await copyRegularFile(from, to, stat);
  }
  return undefined;
}

/**
 * Copies a project into the empty directory `target`, but for what it ignores and what can't safely
 * be there, and says what that was and why.
 *
 * @param {string} source
 * @param {string} target
 * @returns {Promise<{ rules: IgnoreRules, leftOut: LeftOut[] }>}
 */
export async function copyProject(source, target) {
  const rules = new IgnoreRules();
  /** @type {LeftOut[]} */
  const leftOut = [];
  let bytes = 0;
  for await (const step of walk(source, rules, { readRules: true })) {
    if ("reason" in step) {
      leftOut.push(step);
      continue;
    }
    bytes += step.stat.isFile() ? step.stat.size : 0;
    if (bytes > kMaxTreeBytes) throw new Failure(`${source} is too large to be copied`);
    const reason = await tryCopy(source, target, step);
    if (reason !== undefined) leftOut.push({ place: step.place, reason });
  }
  return { rules, leftOut };
}

/** What is gone or unreadable meanwhile is left out; a full disk and the like are errors. */
const kUnreadable = new Set(["EACCES", "EPERM", "ENOENT"]);

/**
 * @param {string} source
 * @param {string} target
 * @param {{ place: string, stat: import("node:fs").Stats }} step
 */
async function tryCopy(source, target, step) {
  try {
    return await copyStep(source, target, step);
  } catch (error) {
    const code = codeOf(error) ?? "";
    if (kUnreadable.has(code)) return `can't be read (${code})`;
    throw error;
  }
}
