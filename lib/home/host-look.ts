/**
 * Looks at the host's files, at each of them once: a search for tools asks for the same directories again and again. Looks
 * before it opens, since an error of Node's costs more than many looks. Never throws. What lies on a file system that did
 * not answer when findSilentMounts was last called is not there.
 */

import {
  closeSync,
  type Dirent,
  lstatSync,
  openSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  readSync,
  realpathSync,
  type Stats,
  statSync,
} from "node:fs";
import { basename, dirname } from "node:path";
import { isSilent } from "../answering-path.js";

/** True if `path` is `parent` or below it. */
export function covers(parent: string, path: string): boolean {
  if (!path.startsWith(parent)) return false;
  return path.length === parent.length || parent === "/" || path[parent.length] === "/";
}

/** The path of an entry; both are normalised, so this needs no join(). */
export function below(directory: string, relative: string): string {
  if (relative === "") return directory;
  return directory === "/" ? `/${relative}` : `${directory}/${relative}`;
}

/** The state of what a path leads to; undefined if it leads to nothing that can be reached. */
export function statusOf(path: string): Stats | undefined {
  if (isSilent(path)) return undefined;
  try {
    return statSync(path, { throwIfNoEntry: false });
  } catch {
    return undefined;
  }
}

const textOf = (status: Stats | undefined) =>
  status === undefined ? "" : `${status.dev} ${status.ino} ${status.ctimeMs}`;

/** A text that changes with the directory's entries, or with the file; "" if there is none. */
export const stampOf = (path: string): string => textOf(statusOf(path));

/** File systems of other machines, which may not answer; and those of Windows, whose programs can't run. */
const kFarAway =
  /^(?:nfs|nfs4|cifs|smb3|smbfs|9p|drvfs|afs|ceph|autofs|fuse\.sshfs|fuse\.rclone|glusterfs)$/;

/** Where file systems are mounted that may not answer. */
export function farMounts(): string[] {
  try {
    return readFileSync("/proc/self/mountinfo", "utf8")
      .split("\n")
      .filter((line) => kFarAway.test(line.split(" - ")[1]?.split(" ")[0] ?? ""))
      .map((line) => line.split(" ")[4] ?? "");
  } catch {
    return [];
  }
}

/** What one search has seen. */
export class HostLook {
  readonly #entries = new Map<string, Stats | undefined>();
  readonly #statuses = new Map<string, Stats | undefined>();
  readonly #reals = new Map<string, string | undefined>();
  readonly #names = new Map<string, readonly Dirent[]>();
  readonly #unsafe = new Map<string, string | undefined>();
  readonly #uid = process.geteuid?.() ?? -1;

  /** The entry itself, which may be a link. */
  entry(path: string): Stats | undefined {
    if (this.#entries.has(path)) return this.#entries.get(path);
    let entry: Stats | undefined;
    try {
      if (!isSilent(path, false)) entry = lstatSync(path, { throwIfNoEntry: false });
    } catch {} // a directory above it can't be searched, or is a file
    this.#entries.set(path, entry);
    return entry;
  }

  /** What the path leads to. */
  status(path: string): Stats | undefined {
    const entry = this.entry(path);
    if (!entry?.isSymbolicLink()) return entry;
    if (!this.#statuses.has(path)) this.#statuses.set(path, statusOf(path));
    return this.#statuses.get(path);
  }

  exists(path: string): boolean {
    return this.status(path) !== undefined;
  }

  isDirectory(path: string): boolean {
    return this.status(path)?.isDirectory() ?? false;
  }

  /** See {@link stampOf}; as it was when the path was first looked at. */
  stamp(path: string): string {
    return textOf(this.status(path));
  }

  /** The path without links; undefined if it leads to nothing. */
  real(path: string): string | undefined {
    if (path === "/") return path;
    if (this.#reals.has(path)) return this.#reals.get(path);
    const real = this.#realOf(path);
    this.#reals.set(path, real);
    return real;
  }

  #realOf(path: string): string | undefined {
    const above = this.real(dirname(path));
    if (above === undefined) return undefined;
    const at = below(above, basename(path));
    const entry = this.entry(at);
    if (!entry?.isSymbolicLink()) return entry && at;
    if (isSilent(at)) return undefined;
    try {
      return realpathSync.native(at);
    } catch {
      return undefined;
    }
  }

  /** The entries of a directory; none if it can't be read. */
  entries(directory: string): readonly Dirent[] {
    const known = this.#names.get(directory);
    if (known !== undefined) return known;
    let entries: readonly Dirent[] = [];
    try {
      if (this.isDirectory(directory)) entries = readdirSync(directory, { withFileTypes: true });
    } catch {} // it may not be read
    this.#names.set(directory, entries);
    return entries;
  }

  /** The names in a directory. */
  names(directory: string): string[] {
    return this.entries(directory).map(({ name }) => name);
  }

  /** The text of a link; undefined if it is none. */
  linkText(path: string): string | undefined {
    if (!this.entry(path)?.isSymbolicLink()) return undefined;
    try {
      return readlinkSync(path);
    } catch {
      return undefined;
    }
  }

  /** The first line of a file, as far as a script's would go. */
  firstLine(path: string): string {
    let file: number | undefined;
    try {
      if (isSilent(path)) return "";
      file = openSync(path, "r");
      const bytes = Buffer.alloc(256);
      const size = readSync(file, bytes, 0, bytes.length, 0);
      return bytes.subarray(0, size).toString("latin1").split("\n", 1)[0] ?? "";
    } catch {
      return "";
    } finally {
      if (file !== undefined) closeSync(file);
    }
  }

  /** Why others could change what is at a real path, or in it; undefined: they can't. */
  unsafe(real: string): string | undefined {
    if (this.#unsafe.has(real)) return this.#unsafe.get(real);
    const why = this.#whyUnsafe(real);
    this.#unsafe.set(real, why);
    return why;
  }

  #whyUnsafe(real: string): string | undefined {
    const entry = this.entry(real);
    if (entry === undefined) return "it is not there";
    if (real !== "/") {
      const above = this.unsafe(dirname(real));
      if (above !== undefined) return above;
    }
    if (entry.uid !== 0 && entry.uid !== this.#uid) return `${real} belongs to another user`;
    const isOwnGroup = entry.gid === entry.uid;
    const others = entry.mode & (isOwnGroup ? 0o002 : 0o022);
    const isSticky = (entry.mode & 0o1000) !== 0;
    return others !== 0 && !isSticky ? `others can write to ${real}` : undefined;
  }
}
