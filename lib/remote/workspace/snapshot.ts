/**
 * The contents of a directory at one moment. A file is read only if its state (mode, device, inode, size, mtime, ctime)
 * differs from the last read: a program can't set ctime, so an edit that restores mtime is detected.
 */

import type { WorkspaceSurvey } from "../../../types/addon-files.js";
import { loadAddon } from "../../native.js";
import {
  Beneath,
  ctimeNsOf,
  digestOf,
  isSameStamp,
  kStampWords,
  modeOf,
  mtimeNsOf,
  type Stamp,
  sizeOf,
} from "./content/beneath.js";
import { type Entry, kModeBits, kTop, textOf } from "./content/entry.js";
import { type Bounds, Manifest } from "./content/manifest.js";
import { WorkspaceError } from "./exchange.js";

/**
 * Nanoseconds by which a file's times have to precede its read. A file that changes twice within one tick of the file
 * system's clock can have two states that look alike (git calls the second "racily clean"), and some file systems count
 * in seconds.
 */
const kTickNs = 2_000_000_000n;

/** The remembered state of an entry. */
export type Known = {
  readonly stamp: Stamp;
  /** Undefined: the entry can't be moved (a FIFO, a socket, a device). */
  readonly entry: Entry | undefined;
  /** True if an equal stamp alone proves equal content. */
  readonly isProof: boolean;
};

/** The state of a directory at one moment. */
export class Snapshot {
  readonly manifest: Manifest;
  /** Paths of FIFOs, sockets and devices, which are not moved. */
  readonly skipped: readonly string[];
  /** Parallel to the survey's entries; undefined: gone since. */
  readonly rows: readonly (Known | undefined)[];
  readonly #survey: Survey;
  #byPath: ReadonlyMap<string, Known> | undefined;

  constructor(survey: Survey, rows: readonly (Known | undefined)[], before: Snapshot | undefined) {
    this.#survey = survey;
    this.rows = rows;
    const entries: Entry[] = [];
    const skipped: string[] = [];
    rows.forEach((known, at) => {
      if (known?.entry) entries.push(known.entry);
      else if (known) skipped.push(survey.seen[at]?.path ?? "");
    });
    this.skipped = skipped;
    const last = before?.manifest;
    const isSame =
      last?.entries.length === entries.length &&
      entries.every((entry, at) => last.entries[at] === entry);
    this.manifest = isSame && last ? last : Manifest.ofSorted(entries);
  }

  /** Returns the remembered state of a path. */
  known(path: string): Known | undefined {
    this.#byPath ??= new Map(
      this.#survey.seen.flatMap((seen, at) => {
        const known = this.rows[at];
        return known ? [[seen.path, known]] : [];
      }),
    );
    return this.#byPath.get(path);
  }

  /** Returns the remembered state of an entry of a later survey, at index `at` there. */
  remembered({ path }: Seen, at: number, { text }: Survey): Known | undefined {
    return text === this.#survey.text ? this.rows[at] : this.known(path);
  }
}

const kGone: ReadonlySet<unknown> = new Set(["ENOENT", "ENOTDIR", "ELOOP", "ENXIO"]);

function isGone(error: unknown): boolean {
  return kGone.has((error as NodeJS.ErrnoException).code);
}

function isOld(stamp: Stamp, readAtNs: bigint): boolean {
  return mtimeNsOf(stamp) + kTickNs < readAtNs && ctimeNsOf(stamp) + kTickNs < readAtNs;
}

async function readFile(tree: Beneath, path: string): Promise<Known | undefined> {
  const readAtNs = BigInt(Date.now()) * 1_000_000n;
  try {
    const { sha256, stamp } = await digestOf(tree, path);
    const entry: Entry = {
      type: "file",
      path,
      mode: modeOf(stamp) & kModeBits,
      size: sizeOf(stamp),
      mtimeUs: Number(mtimeNsOf(stamp) / 1000n),
      sha256,
    };
    return { stamp, entry, isProof: isOld(stamp, readAtNs) };
  } catch (error) {
    if (isGone(error)) return undefined; // since its name was read
    if ((error as NodeJS.ErrnoException).code !== "EACCES") throw error;
    const message = `${path} can't be moved: it can't be read`;
    throw new WorkspaceError(message, "ERR_WORKSPACE_UNSUPPORTED", error);
  }
}

function entryOf({ path, type, stamp, target }: Seen): Entry | undefined {
  if (type === "directory") return { type, path, mode: modeOf(stamp) & kModeBits };
  return type === "symlink" ? { type, path, target } : undefined;
}

function isSameLink(known: Known, { type, target }: Seen): boolean {
  return type !== "symlink" || (known.entry?.type === "symlink" && known.entry.target === target);
}

/** Takes snapshots of one directory, one at a time, and remembers the files it has read. */
export class SnapshotTaker {
  readonly #directory: string;
  readonly #bounds: Bounds;
  #last: Snapshot | undefined;

  constructor(directory: string, bounds: Bounds) {
    this.#directory = directory;
    this.#bounds = bounds;
  }

  /**
   * Takes a snapshot. Must not be called before the previous call has settled.
   * @throws (rejects) as `survey`, and WorkspaceError ERR_WORKSPACE_CHANGING; ERR_WORKSPACE_LIMIT for more bytes than
   * allowed; ERR_WORKSPACE_UNSUPPORTED for a file that can't be read
   */
  async take(): Promise<Snapshot> {
    const taken = await survey(this.#directory, this.#bounds);
    const rows: (Known | undefined)[] = [];
    let tree: Beneath | undefined;
    try {
      for (const [at, each] of taken.seen.entries()) {
        let now = this.#remembered(each, at, taken);
        if (now === undefined && each.type === "file") {
          tree ??= new Beneath(this.#directory);
          now = await readFile(tree, each.path);
        } else {
          now ??= this.#lookedAt(each, at, taken);
        }
        rows.push(now);
      }
    } finally {
      tree?.close();
    }
    const snapshot = new Snapshot(taken, rows, this.#last);
    snapshot.manifest.expectWithin(this.#bounds);
    this.#last = snapshot;
    return snapshot;
  }

  /** Returns the state of an entry that is no file. A directory that differs only in its times keeps its entry. */
  #lookedAt(seen: Seen, at: number, taken: Survey): Known {
    const before = this.#last?.remembered(seen, at, taken)?.entry;
    const entry = entryOf(seen);
    const isSame = before && entry && textOf(before) === textOf(entry);
    return { stamp: seen.stamp, entry: isSame ? before : entry, isProof: true };
  }

  #remembered(seen: Seen, at: number, taken: Survey): Known | undefined {
    const known = this.#last?.remembered(seen, at, taken);
    if (known === undefined || !known.isProof || !isSameStamp(known.stamp, seen.stamp)) return;
    return isSameLink(known, seen) ? known : undefined;
  }
}

const kTypeBits = 0o170000;
const kTypes: ReadonlyMap<number, "file" | "directory" | "symlink"> = new Map([
  [0o100000, "file"],
  [0o040000, "directory"],
  [0o120000, "symlink"],
]);
/** Backups that a commit of a transaction keeps in a workspace for a moment. */
const kAside = /^\.native-runner-aside-/;

/** An entry as seen by a survey. */
type Seen = {
  readonly path: string;
  /** "other": a FIFO, a socket or a device. */
  readonly type: "file" | "directory" | "symlink" | "other";
  readonly stamp: Stamp;
  readonly target: string;
};

/** The contents of a workspace in canonical order, without the contents of files. */
type Survey = {
  /** All paths and targets; surveys with equal text have equal entries at equal indexes. */
  readonly text: string;
  readonly seen: readonly Seen[];
};

function unpacked({ text, numbers }: WorkspaceSurvey): Survey {
  const words = new Uint32Array(numbers.buffer, numbers.byteOffset, numbers.byteLength / 4);
  const fields = text.split("\0");
  const seen: Seen[] = [];
  let field = 0;
  for (let at = 0; at < words.length; at += kStampWords) {
    const type = kTypes.get((words[at] ?? 0) & kTypeBits) ?? "other";
    const path = fields[field++] ?? "";
    const target = type === "symlink" ? (fields[field++] ?? "") : "";
    if (!kAside.test(path)) seen.push({ path, type, stamp: { words, at }, target });
  }
  return { text, seen };
}

/**
 * Lists all entries of a directory, each reached below it and through no symbolic link.
 * @throws (rejects) WorkspaceError ERR_WORKSPACE_UNSUPPORTED for a name that is not UTF-8, ERR_WORKSPACE_LIMIT for more
 * entries than allowed; an Error of `node:fs`, or a SandboxError if the directory does not exist
 */
export async function survey(directory: string, { maxEntries }: Bounds): Promise<Survey> {
  const files = new (loadAddon().WorkspaceFiles)({ shadowDir: directory, write: false });
  try {
    return unpacked(await files.survey({ maxEntries }));
  } catch (error) {
    const { code, path = kTop } = error as { code?: unknown; path?: string };
    if (code === "EILSEQ") {
      const message = `${path} can't be moved: its name, or what it points to, is no UTF-8`;
      throw new WorkspaceError(message, "ERR_WORKSPACE_UNSUPPORTED", error);
    }
    if (code === "ERR_FS_TOO_MANY_ENTRIES") {
      const message = `the workspace has more than ${maxEntries} entries`;
      throw new WorkspaceError(message, "ERR_WORKSPACE_LIMIT", error);
    }
    throw error;
  }
}
