/**
 * An entry of a workspace, and its canonical text: records of fields that each end with a NUL.
 *   d MODE, path      f MODE SIZE MTIME SHA-256, path      l, path, target      -, path (is gone)
 */

import { badMessage } from "../workspace-error.js";
import { isEntryPath, kTop } from "./paths.js";

/** Permissions alone: set-id bits are no other machine's to give. */
export const kModeBits = 0o777;

/** A regular file. */
export type FileEntry = {
  readonly type: "file";
  readonly path: string;
  /** Permissions. */
  readonly mode: number;
  /** Bytes. */
  readonly size: number;
  /** Microseconds since the epoch. */
  readonly mtimeUs: number;
  /** Of its content, as 64 hexadecimal digits. */
  readonly sha256: string;
};

/** A directory. */
export type DirectoryEntry = {
  readonly type: "directory";
  readonly path: string;
  /** Permissions. */
  readonly mode: number;
};

/** A symbolic link. */
export type LinkEntry = {
  readonly type: "symlink";
  readonly path: string;
  /** What it points to, as it stands there: it may lead anywhere. */
  readonly target: string;
};

/** One of a workspace's. */
export type Entry = FileEntry | DirectoryEntry | LinkEntry;

const kFile = /^f([0-7]{1,3}) (\d{1,16}) (-?\d{1,16}) ([0-9a-f]{64})$/;
const kDirectory = /^d([0-7]{1,3})$/;
const kLongestTarget = 4095; // bytes, as the kernel has it

const texts = new WeakMap<Entry, string>();

/** Its canonical text; made once for each object. */
export function textOf(entry: Entry): string {
  let text = texts.get(entry);
  if (text === undefined) {
    text = newTextOf(entry);
    texts.set(entry, text);
  }
  return text;
}

function newTextOf(entry: Entry): string {
  const { path } = entry;
  if (entry.type === "symlink") return `l\0${path}\0${entry.target}\0`;
  const mode = entry.mode.toString(8);
  if (entry.type === "directory") return `d${mode}\0${path}\0`;
  return `f${mode} ${entry.size} ${entry.mtimeUs} ${entry.sha256}\0${path}\0`;
}

/** The text of a path where nothing is any more. */
export function textOfGone(path: string): string {
  return `-\0${path}\0`;
}

function fileOf(head: string, path: string): FileEntry | undefined {
  const [, mode = "", size = "", mtimeUs = "", sha256 = ""] = kFile.exec(head) ?? [];
  const entry: FileEntry = {
    type: "file",
    path,
    mode: Number.parseInt(mode, 8),
    size: Number(size),
    mtimeUs: Number(mtimeUs),
    sha256,
  };
  const isSafe = Number.isSafeInteger(entry.size) && Number.isSafeInteger(entry.mtimeUs);
  return sha256 !== "" && isSafe ? entry : undefined;
}

/** @throws WorkspaceError ERR_WORKSPACE_MESSAGE for a head that is none. */
function entryOf(head: string, path: string, target: () => string): Entry {
  if (head === "l") return { type: "symlink", path, target: target() };
  const directory = kDirectory.exec(head);
  const entry: Entry | undefined = directory
    ? { type: "directory", path, mode: Number.parseInt(directory[1] ?? "", 8) }
    : fileOf(head, path);
  if (entry === undefined) throw badMessage("a record of no known kind");
  return entry;
}

/** A record from elsewhere: an entry, or the path of one that is gone. */
export type Record = { readonly path: string; readonly entry: Entry | undefined };

/**
 * Reads what another machine has written. Nothing of it is believed but its form: who uses it checks
 * what the entries are together.
 * @throws WorkspaceError ERR_WORKSPACE_MESSAGE, and ERR_WORKSPACE_LIMIT where there are more than `most`.
 */
export function recordsOf(text: string, most: number): Record[] {
  const fields = text.split("\0");
  if (fields.pop() !== "") throw badMessage("a text that is not complete");
  const records: Record[] = [];
  let at = 0;
  const next = () => {
    const field = fields[at++];
    if (field === undefined) throw badMessage("a record that is not complete");
    return field;
  };
  const target = () => {
    const field = next();
    const isTarget = field !== "" && Buffer.byteLength(field) <= kLongestTarget;
    if (!isTarget) throw badMessage("a link with no possible target");
    return field;
  };
  while (at < fields.length) {
    if (records.length === most) throw badMessage(`more than ${most} entries`);
    const head = next();
    const path = next();
    if (!isEntryPath(path)) throw badMessage(`a path that no workspace has: ${shown(path)}`);
    const entry = head === "-" ? undefined : entryOf(head, path, target);
    if (path === kTop && entry?.type !== "directory")
      throw badMessage("a top that is no directory");
    records.push({ path, entry });
  }
  return records;
}

const shown = (path: string) => JSON.stringify(path.slice(0, 200));
