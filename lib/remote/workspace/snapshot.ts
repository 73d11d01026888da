/**
 * What a directory holds at one moment, by content. A file is read only where its state (mode, device,
 * inode, size, mtime, ctime) is not the one in which it was read before: nobody can set ctime, so an
 * edit whose mtime was put back is seen.
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
 * How much older than the moment at which it was read a file's times have to be, in nanoseconds. A file
 * that changes twice within one tick of its file system's clock can be in two states that look alike
 * (git calls the second "racily clean"), and some file systems count in seconds.
 */
const kTickNs = 2_000_000_000n;

/** What is remembered of an entry. */
export type Known = {
  readonly stamp: Stamp;
  /** undefined: it can't be moved (a FIFO, a socket, a device). */
  readonly entry: Entry | undefined;
  /** Whether the stamp alone shows that the content is the same. */
  readonly isProof: boolean;
};

/** One moment. */
export class Snapshot {
  readonly manifest: Manifest;
  /** Paths of FIFOs, sockets and devices, which are not moved. */
  readonly skipped: readonly string[];
  /** As the survey has them; undefined: gone since. */
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

  /** What is remembered of a path. */
  known(path: string): Known | undefined {
    this.#byPath ??= new Map(
      this.#survey.seen.flatMap((seen, at) => {
        const known = this.rows[at];
        return known ? [[seen.path, known]] : [];
      }),
    );
    return this.#byPath.get(path);
  }

  /** Of what a later survey has seen, by its place in that. */
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

/** Takes snapshots of one directory, one after the other, and remembers what it has read. */
export class SnapshotTaker {
  readonly #directory: string;
  readonly #bounds: Bounds;
  #last: Snapshot | undefined;

  constructor(directory: string, bounds: Bounds) {
    this.#directory = directory;
    this.#bounds = bounds;
  }

  /**
   * Not to be called before the last call has settled.
   * @throws (rejects) as `survey`, and WorkspaceError ERR_WORKSPACE_CHANGING; ERR_WORKSPACE_LIMIT for more
   * bytes than are allowed; ERR_WORKSPACE_UNSUPPORTED for a file that can't be read.
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

  /** A directory whose times alone are others is the same entry. */
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
/** What a commit of a transaction keeps in a workspace for a moment. */
const kAside = /^\.native-runner-aside-/;

/** What was seen of an entry. */
type Seen = {
  readonly path: string;
  /** "other": a FIFO, a socket or a device. */
  readonly type: "file" | "directory" | "symlink" | "other";
  readonly stamp: Stamp;
  readonly target: string;
};

/** What a workspace holds, in canonical order, without the contents of its files. */
type Survey = {
  /** All paths and targets: two surveys with the same have the same entries at the same places. */
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
 * Looks at all that a directory holds, each step below it and through no symbolic link.
 * @throws (rejects) WorkspaceError ERR_WORKSPACE_UNSUPPORTED for a name that is no UTF-8,
 * ERR_WORKSPACE_LIMIT for more entries than are allowed; an Error of `node:fs`, or a SandboxError where
 * there is no such directory.
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
