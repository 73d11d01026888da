/**
 * What stands at one path: enough of it to tell whether it is still the same, and to show why not.
 * @module
 */

import { createHash } from "node:crypto";
import { constants } from "node:fs";
import { lstat, open, readlink } from "node:fs/promises";

import { codeOf } from "../failure.js";
import { kMaxFileBytes } from "./limits.js";

/**
 * `executable` is all that is kept of a file's mode, as with git: no command decides who may read a
 * file of the project. "other" is what can't be copied, and why.
 *
 * @typedef {{ kind: "file", executable: boolean, size: number, hash: string }} FileEntry
 * @typedef {{ kind: "link", target: string }} LinkEntry
 * @typedef {{ kind: "directory" }} DirectoryEntry
 * @typedef {{ kind: "other", reason: string }} OtherEntry
 * @typedef {FileEntry | LinkEntry | DirectoryEntry} Entry
 */

/** Never through a link, and never waiting for the other end of a FIFO. */
export const kOpenFlags = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;

/**
 * @param {string} file
 * @returns {Promise<FileEntry | OtherEntry>}
 */
async function readFileEntry(file) {
  const handle = await open(file, kOpenFlags);
  try {
    const stat = await handle.stat();
    if (!stat.isFile()) return { kind: "other", reason: "not a regular file" };
    if (stat.size > kMaxFileBytes) return { kind: "other", reason: "too large" };
    const hash = createHash("sha256");
    let size = 0;
    for await (const chunk of handle.createReadStream({ autoClose: false })) {
      hash.update(chunk);
      size += chunk.length;
    }
    return { kind: "file", executable: (stat.mode & 0o100) !== 0, size, hash: hash.digest("hex") };
  } finally {
    await handle.close();
  }
}

/**
 * Undefined where nothing is. What can't be read is "other": a command may have made anything.
 * @param {string} file
 * @returns {Promise<Entry | OtherEntry | undefined>}
 */
export async function readEntry(file) {
  try {
    const stat = await lstat(file);
    if (stat.isDirectory()) return { kind: "directory" };
    if (stat.isSymbolicLink()) return { kind: "link", target: await readlink(file) };
    if (stat.isFile()) return await readFileEntry(file);
    return { kind: "other", reason: "not a file, directory or link" };
  } catch (error) {
    const code = codeOf(error);
    if (code === "ENOENT" || code === "ENOTDIR") return undefined;
    if (code === undefined) throw error;
    return { kind: "other", reason: `can't be read (${code})` };
  }
}

/**
 * @param {Entry | OtherEntry | undefined} one
 * @param {Entry | OtherEntry | undefined} other
 */
export function isSame(one, other) {
  if (one === undefined || other === undefined) return one === other;
  switch (one.kind) {
    case "file":
      return (
        other.kind === "file" && one.hash === other.hash && one.executable === other.executable
      );
    case "link":
      return other.kind === "link" && one.target === other.target;
    case "directory":
      return other.kind === "directory";
    default:
      return false;
  }
}
