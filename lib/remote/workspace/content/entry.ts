/**
 * An entry of a workspace, and its canonical text: records of fields, each ended by a NUL.
 *   d MODE, path      f MODE SIZE MTIME SHA-256, path      l, path, target      -, path (removed)
 */

import { badMessage } from "../exchange.js";

/** Permissions only: another machine can't set set-id bits. */
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
  /** SHA-256 of the content, as 64 hexadecimal digits. */
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
  /** The link's text, unresolved: it may lead anywhere. */
  readonly target: string;
};

/** An entry of a workspace. */
export type Entry = FileEntry | DirectoryEntry | LinkEntry;

const kFile = /^f([0-7]{1,3}) (\d{1,16}) (-?\d{1,16}) ([0-9a-f]{64})$/;
const kDirectory = /^d([0-7]{1,3})$/;
const kLongestTarget = 4095; // bytes, the kernel's limit

const texts = new WeakMap<Entry, string>();

/** Returns an entry's canonical text; made once per object. */
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

/** Returns the text of a removed path. */
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

/** @throws WorkspaceError ERR_WORKSPACE_MESSAGE for a malformed head */
function entryOf(head: string, path: string, target: () => string): Entry {
  if (head === "l") return { type: "symlink", path, target: target() };
  const directory = kDirectory.exec(head);
  const entry: Entry | undefined = directory
    ? { type: "directory", path, mode: Number.parseInt(directory[1] ?? "", 8) }
    : fileOf(head, path);
  if (entry === undefined) throw badMessage("a record of no known kind");
  return entry;
}

/** A record of the other machine: an entry, or the path of a removed one. */
export type Record = { readonly path: string; readonly entry: Entry | undefined };

/**
 * Parses records that another machine has written. Only their form is checked; the caller checks that the entries fit
 * together.
 * @throws WorkspaceError ERR_WORKSPACE_MESSAGE, also for more than `most` records
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

/** Paths of a workspace's entries: relative, with "/" between names, and "." for the workspace itself. */

/** The workspace itself. */
export const kTop = ".";

const kLongestName = 255; // bytes of UTF-8, the kernel's limit
const kLongestPath = 32_768;
const kSurrogates = /[\ud800-\udfff]/;
const kLoneSurrogate = /\p{Surrogate}/u;

function isName(name: string): boolean {
  if (name === "" || name === "." || name === "..") return false;
  return name.length <= kLongestName && Buffer.byteLength(name) <= kLongestName;
}

/** True if a received path is that of an entry below a workspace, or of the workspace itself. */
export function isEntryPath(path: string): boolean {
  if (path === kTop) return true;
  if (path.length > kLongestPath || path.includes("\0")) return false;
  if (kSurrogates.test(path) && kLoneSurrogate.test(path)) return false;
  return path.split("/").every(isName);
}

/** Returns the path of the parent directory; "." for entries of the top, and for the top itself. */
export function parentOf(path: string): string {
  const slash = path.lastIndexOf("/");
  return slash < 0 ? kTop : path.slice(0, slash);
}

/** Returns the rank of a UTF-16 unit in the byte order of UTF-8: surrogates come last, "/" first. */
function rankOf(path: string, at: number): number {
  const unit = path.charCodeAt(at); // NaN past the end
  if (unit === 0x2f) return 0;
  if (unit < 0xd800) return unit;
  if (unit >= 0xe000) return unit - 0x800;
  return Number.isNaN(unit) ? -1 : unit + 0x2000;
}

/** The canonical order: names by their UTF-8 bytes, and the contents of a directory directly after it. */
export function comparePaths(one: string, other: string): number {
  if (one === other) return 0;
  if (one === kTop || other === kTop) return one === kTop ? -1 : 1;
  let at = 0;
  while (one.charCodeAt(at) === other.charCodeAt(at)) at += 1;
  return rankOf(one, at) - rankOf(other, at);
}

/**
 * Returns files in the order in which they were written. Their new times are the times of arrival, by the clock of the
 * receiving machine, so newer files stay newer whatever the other machine's clock says.
 */
export function inWriteOrder(entries: readonly Entry[]): FileEntry[] {
  return entries
    .flatMap((entry) => (entry.type === "file" ? [entry] : []))
    .sort((one, other) => one.mtimeUs - other.mtimeUs || comparePaths(one.path, other.path));
}
