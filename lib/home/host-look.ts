/**
 * Looks at the host's files, at each of them once: a search for tools asks for the same directories again and again. Looks
 * before it opens, since an error of Node's costs more than many looks. Never throws. What lies on a file system that did
 * not answer when findSilentMounts was last called is not there.
 */

import {
  closeSync,
  constants,
  lstatSync,
  openSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  readSync,
  realpathSync,
  statSync,
} from "node:fs";
import { basename } from "node:path";
import type { NativeToolDirectory } from "../../types/addon.js";
import { addonIfPresent, isSilent, lastSilentMounts } from "../answering-path.js";
import { above, below } from "../paths.js";

/** The state of an entry: a part of Node's Stats, which cost several times as much. */
export class Status {
  readonly mode: number;
  readonly uid: number;
  readonly gid: number;
  readonly dev: number;
  readonly ino: number;
  readonly ctimeMs: number;
  readonly size: number;

  /** @param fields as the addon's `lookAt` fills them */
  constructor(fields: Float64Array) {
    this.mode = fields[0] as number;
    this.uid = fields[1] as number;
    this.gid = fields[2] as number;
    this.dev = fields[3] as number;
    this.ino = fields[4] as number;
    this.ctimeMs = fields[5] as number;
    this.size = fields[6] as number;
  }

  isDirectory(): boolean {
    return (this.mode & constants.S_IFMT) === constants.S_IFDIR;
  }

  isFile(): boolean {
    return (this.mode & constants.S_IFMT) === constants.S_IFREG;
  }

  isSymbolicLink(): boolean {
    return (this.mode & constants.S_IFMT) === constants.S_IFLNK;
  }
}

/** The addon writes the status of the path that it looked at last here. */
const kSeen = new Float64Array(7);

function lookAt(path: string, follows: boolean): Status | undefined {
  if (isSilent(path, follows)) return undefined;
  const look = addonIfPresent()?.lookAt ?? lookByNode;
  return look(path, follows, kSeen) ? new Status(kSeen) : undefined;
}

function lookByNode(path: string, follows: boolean, fields: Float64Array): boolean {
  try {
    const seen = (follows ? statSync : lstatSync)(path, { throwIfNoEntry: false });
    if (seen === undefined) return false;
    const { mode, uid, gid, dev, ino, ctimeMs, size } = seen;
    fields.set([mode, uid, gid, dev, ino, ctimeMs, size]);
    return true;
  } catch {
    return false; // a directory above it can't be searched, or is a file
  }
}

/** The state of what a path leads to; undefined if it leads to nothing that can be reached. */
export const statusOf = (path: string): Status | undefined => lookAt(path, true);

const textOf = (status: Status | undefined) =>
  status === undefined ? "" : `${status.dev} ${status.ino} ${status.ctimeMs}`;

/** A text that changes with the directory's entries, or with the file; "" if there is none. */
export const stampOf = (path: string): string => textOf(statusOf(path));

/** File systems of other machines, which may not answer; and those of Windows, whose programs can't run. */
const kFarAway: ReadonlySet<string> = new Set([
  ...["nfs", "nfs4", "cifs", "smb3", "smbfs", "9p", "drvfs", "afs", "ceph", "autofs"],
  ...["fuse.sshfs", "fuse.rclone", "glusterfs"],
]);

/** Where file systems are mounted that may not answer. */
export const farMounts = (): string[] => mountPoints((type) => kFarAway.has(type));

/** Where file systems of some types are mounted; none if the table can't be read. */
export function mountPoints(isWanted: (type: string) => boolean): string[] {
  try {
    return readFileSync("/proc/self/mountinfo", "utf8")
      .split("\n")
      .filter((line) => line !== "" && isWanted(line.split(" - ")[1]?.split(" ", 1)[0] ?? ""))
      .map((line) => line.split(" ")[4] ?? "");
  } catch {
    return [];
  }
}

/** A directory of programs, and whether its scripts' first lines are read. */
export type ToolDirectory = { path: string; readsScripts: boolean };

/**
 * Reads directories of programs, all of them in one look; returns their contents by path. A silent one is left out; all are
 * if the addon is missing, or if one does not answer now.
 */
export function readToolDirectories(
  directories: readonly ToolDirectory[],
): ReadonlyMap<string, NativeToolDirectory> {
  const asked = directories.filter(({ path }) => !isSilent(path));
  const found =
    addonIfPresent()?.readToolDirectories(
      asked.map(({ path }) => path),
      asked.map(({ readsScripts }) => readsScripts),
      lastSilentMounts(),
    ) ?? [];
  return new Map(found.map((each, at) => [asked[at]?.path ?? "", each]));
}

/** Remembers the answers of one search. */
export class HostLook {
  readonly #entries = new Map<string, Status | undefined>();
  readonly #statuses = new Map<string, Status | undefined>();
  readonly #reals = new Map<string, string | undefined>();
  readonly #names = new Map<string, readonly string[]>();
  readonly #unsafe = new Map<string, string | undefined>();
  readonly #uid = process.geteuid?.() ?? -1;

  /** The entry itself, which may be a link. */
  entry(path: string): Status | undefined {
    if (this.#entries.has(path)) return this.#entries.get(path);
    const entry = lookAt(path, false);
    this.#entries.set(path, entry);
    return entry;
  }

  /** What the path leads to. */
  status(path: string): Status | undefined {
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
    const directory = this.real(above(path));
    if (directory === undefined) return undefined;
    const at = below(directory, basename(path));
    const entry = this.entry(at);
    if (!entry?.isSymbolicLink()) return entry && at;
    if (isSilent(at)) return undefined;
    try {
      return realpathSync.native(at);
    } catch {
      return undefined;
    }
  }

  /** The names in a directory; none if it can't be read. */
  names(directory: string): readonly string[] {
    const known = this.#names.get(directory);
    if (known !== undefined) return known;
    let names: readonly string[] = [];
    try {
      if (this.isDirectory(directory)) names = readdirSync(directory);
    } catch {} // it may not be read
    this.#names.set(directory, names);
    return names;
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
      const why = this.unsafe(above(real));
      if (why !== undefined) return why;
    }
    if (entry.uid !== 0 && entry.uid !== this.#uid) return `${real} belongs to another user`;
    const isOwnGroup = entry.gid === entry.uid;
    const others = entry.mode & (isOwnGroup ? 0o002 : 0o022);
    const isSticky = (entry.mode & 0o1000) !== 0;
    return others !== 0 && !isSticky ? `others can write to ${real}` : undefined;
  }
}
