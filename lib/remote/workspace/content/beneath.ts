/**
 * Access to entries below a directory, one path component at a time and through no symbolic link. Each step uses an
 * open directory, whose name in /proc/self/fd the kernel resolves to that very directory. An entry that is swapped
 * meanwhile gives ELOOP or ENOTDIR, and leads nowhere. One thread; blocks.
 */

import { createHash } from "node:crypto";
import {
  closeSync,
  constants,
  fchmodSync,
  fstatSync,
  openSync,
  readdirSync,
  readSync,
} from "node:fs";

import { loadAddon } from "../../../native.js";
import { WorkspaceError } from "../exchange.js";
import { kTop } from "./entry.js";

const kDirectory = constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW;
const kOwn = 0o700;

type Step = { readonly name: string; readonly descriptor: number };

/** Holds a descriptor for each directory on the path used last. Has to be closed. */
export class Beneath {
  readonly #steps: Step[] = [];
  readonly #mayWrite: boolean;

  /**
   * @param directory its own path is resolved through symbolic links
   * @param mayWrite true: directories without owner permissions get them on the way; only for trees that belong to this
   * process
   */
  constructor(directory: string, { mayWrite = false } = {}) {
    this.#mayWrite = mayWrite;
    const descriptor = openSync(directory, constants.O_RDONLY | constants.O_DIRECTORY);
    this.#steps.push({ name: "", descriptor });
  }

  /**
   * Returns a name for an entry, valid until the next path is used.
   * @throws the errors of openat(2)
   */
  nameOf(path: string): string {
    if (path === kTop) return `/proc/self/fd/${this.#at(0)}/.`;
    const names = path.split("/");
    const last = names.pop();
    return `/proc/self/fd/${this.#reach(names)}/${last}`;
  }

  /** Returns the descriptor of a directory; this object keeps ownership. */
  directory(path: string): number {
    return path === kTop ? this.#at(0) : this.#reach(path.split("/"));
  }

  /** Returns the state of the entry itself. */
  lstat(path: string): Stamp {
    return stampOf(path === kTop ? this.#at(0) : this.nameOf(path));
  }

  /** Returns the names in a directory. */
  list(path: string): string[] {
    return readdirSync(`/proc/self/fd/${this.directory(path)}`);
  }

  /** Opens a file without blocking; the caller checks its type and closes the descriptor. */
  open(path: string): number {
    const flags = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;
    return openSync(this.nameOf(path), flags | constants.O_NOCTTY);
  }

  /** Closes the descriptors below the top: for directories that are about to be removed, or are gone. */
  rise(): void {
    for (const { descriptor } of this.#steps.splice(1).reverse()) closeSync(descriptor);
  }

  close(): void {
    for (const { descriptor } of this.#steps.splice(0).reverse()) closeSync(descriptor);
  }

  #at(depth: number): number {
    const step = this.#steps[depth];
    if (step === undefined) throw new Error("the directory was closed");
    return step.descriptor;
  }

  #reach(names: readonly string[]): number {
    let depth = 0;
    while (depth < names.length && this.#steps[depth + 1]?.name === names[depth]) depth += 1;
    for (const { descriptor } of this.#steps.splice(depth + 1).reverse()) closeSync(descriptor);
    for (const name of names.slice(depth)) {
      this.#steps.push({ name, descriptor: this.#enter(name) });
    }
    return this.#at(names.length);
  }

  #enter(name: string): number {
    const path = `/proc/self/fd/${this.#at(this.#steps.length - 1)}/${name}`;
    const descriptor = openSync(path, kDirectory);
    if (!this.#mayWrite) return descriptor;
    const { mode } = fstatSync(descriptor);
    if ((mode & kOwn) !== kOwn) fchmodSync(descriptor, (mode & 0o777) | kOwn);
    return descriptor;
  }
}

/**
 * The state of an entry: mode, device, inode, size, mtime and ctime, as 32-bit words, because comparing big integers
 * allocates objects.
 */
export type Stamp = { readonly words: Uint32Array; readonly at: number };

/** Numbers per entry, in the order of native/workspace/tree/file_stat.h. */
const kNumbers = 6;

/** Words per stamp. */
export const kStampWords = 2 * kNumbers;

/** The words of mode, device and inode. */
const kPlaceWords = 6;

const kTypeBits = 0o170000;
const kRegular = 0o100000;

/**
 * Returns the state of an open file, or of the entry at a path, without following a link in the last component.
 * @throws an Error like those of `node:fs`, whose own times have only milliseconds, or seconds in Deno
 */
export function stampOf(place: number | string): Stamp {
  const { buffer, byteOffset } = loadAddon().entryState(place);
  return { words: new Uint32Array(buffer, byteOffset, kStampWords), at: 0 };
}

function numberOf({ words, at }: Stamp, which: number): bigint {
  const low = words[at + 2 * which] ?? 0;
  const high = words[at + 2 * which + 1] ?? 0;
  return (BigInt(high) << 32n) | BigInt(low);
}

const signed = (stamp: Stamp, which: number) => BigInt.asIntN(64, numberOf(stamp, which));

/** Returns st_mode. */
export const modeOf = (stamp: Stamp): number => stamp.words[stamp.at] ?? 0;

const isRegular = (stamp: Stamp): boolean => (modeOf(stamp) & kTypeBits) === kRegular;

/** Returns the size in bytes. */
export const sizeOf = (stamp: Stamp): number => Number(numberOf(stamp, 3));

/** Returns mtime in nanoseconds since 1970; `ctimeNsOf` returns ctime. */
export const mtimeNsOf = (stamp: Stamp): bigint => signed(stamp, 4);

export const ctimeNsOf = (stamp: Stamp): bigint => signed(stamp, 5);

function isSame(one: Stamp, other: Stamp, words: number): boolean {
  for (let at = 0; at < words; at += 1) {
    if (one.words[one.at + at] !== other.words[other.at + at]) return false;
  }
  return true;
}

/** True if an entry is in the same state; ctime can't be set by a program. */
export function isSameStamp(one: Stamp, other: Stamp): boolean {
  return isSame(one, other, kStampWords);
}

/** True if a path still leads to the same directory with the same mode, whatever the directory holds. */
export function isSameDirectory(one: Stamp, other: Stamp): boolean {
  return isSame(one, other, kPlaceWords);
}

const kTries = 5;

/** A file's digest, and the state of the file at that time. */
export type Digested = { readonly sha256: string; readonly stamp: Stamp };

async function tryDigest(tree: Beneath, path: string): Promise<Digested | undefined> {
  const hash = createHash("sha256");
  const chunks = chunksOf(tree, path, Number.MAX_SAFE_INTEGER);
  for (;;) {
    const step = await chunks.next();
    if (step.done) {
      const { before, after } = step.value;
      return isSameStamp(before, after) ? { sha256: hash.digest("hex"), stamp: after } : undefined;
    }
    hash.update(step.value);
  }
}

/**
 * Returns the SHA-256 of a regular file at one moment: a file that is written to meanwhile is read again.
 * @throws (rejects) WorkspaceError ERR_WORKSPACE_CHANGING if it keeps changing; an Error of `node:fs`
 */
export async function digestOf(tree: Beneath, path: string): Promise<Digested> {
  for (let tried = 0; tried < kTries; tried += 1) {
    const digested = await tryDigest(tree, path);
    if (digested) return digested;
  }
  const message = `${path} changes all the time that it is read`;
  throw new WorkspaceError(message, "ERR_WORKSPACE_CHANGING");
}

/** Reads files for hashing and sending, in slices, and detects changes meanwhile. */

const kBlock = 256 * 1024;
/** Bytes after which the thread handles other work. */
const kSlice = 8 * 1024 * 1024;

const others = () => new Promise<void>((resolve) => setImmediate(resolve));

/**
 * Yields the bytes of a file, at most `most`. A chunk is valid until the next is requested, unless `fresh` allocates
 * memory for each.
 * @returns the file's state before and after
 * @throws an Error of `node:fs`; ENXIO if the path is no regular file
 */
export async function* chunksOf(
  tree: Beneath,
  path: string,
  most: number,
  { fresh = false } = {},
): AsyncGenerator<Buffer, { before: Stamp; after: Stamp }, void> {
  const descriptor = tree.open(path);
  try {
    const before = stampOf(descriptor);
    if (!isRegular(before)) {
      throw Object.assign(new Error(`ENXIO: no regular file, '${path}'`), { code: "ENXIO", path });
    }
    const size = Math.min(kBlock, Math.max(1, sizeOf(before)));
    let block = Buffer.allocUnsafe(size);
    let total = 0;
    let slice = 0;
    while (total < most) {
      const count = readSync(descriptor, block, 0, Math.min(block.length, most - total), null);
      if (count === 0) break;
      total += count;
      yield block.subarray(0, count);
      if (fresh) block = Buffer.allocUnsafe(Math.min(kBlock, Math.max(1, most - total)));
      slice += count;
      if (slice < kSlice) continue;
      slice = 0;
      await others();
    }
    return { before, after: stampOf(descriptor) };
  } finally {
    closeSync(descriptor);
  }
}
