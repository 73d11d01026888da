/**
 * A directory whose entries are reached step by step, each step below the one before and through no
 * symbolic link: by open directories, whose names in /proc/self/fd the kernel resolves to the very
 * directories. What is swapped in meanwhile is ELOOP or ENOTDIR, and leads nowhere. One thread; blocks.
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

/** To be closed. Holds a descriptor for each directory on the way to where it was last. */
export class Beneath {
  readonly #steps: Step[] = [];
  readonly #mayWrite: boolean;

  /**
   * @param directory whose own path is followed through links.
   * @param mayWrite whether directories that keep their owner out are opened to the owner on the way:
   * only for trees that are this process' own.
   */
  constructor(directory: string, { mayWrite = false } = {}) {
    this.#mayWrite = mayWrite;
    const descriptor = openSync(directory, constants.O_RDONLY | constants.O_DIRECTORY);
    this.#steps.push({ name: "", descriptor });
  }

  /** A name that leads to an entry for as long as no other is asked for; throws as openat(2). */
  nameOf(path: string): string {
    if (path === kTop) return `/proc/self/fd/${this.#at(0)}/.`;
    const names = path.split("/");
    const last = names.pop();
    return `/proc/self/fd/${this.#reach(names)}/${last}`;
  }

  /** A descriptor of a directory, which stays this object's. */
  directory(path: string): number {
    return path === kTop ? this.#at(0) : this.#reach(path.split("/"));
  }

  /** Of the entry itself. */
  lstat(path: string): Stamp {
    return stampOf(path === kTop ? this.#at(0) : this.nameOf(path));
  }

  /** Names in a directory. */
  list(path: string): string[] {
    return readdirSync(`/proc/self/fd/${this.directory(path)}`);
  }

  /** Opens a file, waiting for nobody; what it is has to be looked at. To be closed by who calls. */
  open(path: string): number {
    const flags = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;
    return openSync(this.nameOf(path), flags | constants.O_NOCTTY);
  }

  /** Forgets the way to where it was last: for directories that are about to go, or have gone. */
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
 * What tells a state of an entry from its others: mode, device, inode, size, mtime and ctime, as 32-bit
 * words, because comparing big integers makes objects of them.
 */
export type Stamp = { readonly words: Uint32Array; readonly at: number };

/** Of each entry, as native/workspace/tree/entry_state.h has them. */
const kNumbers = 6;

/** How many words a stamp has. */
export const kStampWords = 2 * kNumbers;

/** Those of mode, device and inode. */
const kPlaceWords = 6;

const kTypeBits = 0o170000;
const kRegular = 0o100000;

/**
 * Of an open file, or of what a path leads to, through no link in its last step.
 * @throws an Error as those of `node:fs`, which itself tells times in milliseconds or seconds in Deno.
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

/** st_mode. */
export const modeOf = (stamp: Stamp): number => stamp.words[stamp.at] ?? 0;

const isRegular = (stamp: Stamp): boolean => (modeOf(stamp) & kTypeBits) === kRegular;

/** In bytes. */
export const sizeOf = (stamp: Stamp): number => Number(numberOf(stamp, 3));

/** In nanoseconds since 1970, as the next one is. */
export const mtimeNsOf = (stamp: Stamp): bigint => signed(stamp, 4);

export const ctimeNsOf = (stamp: Stamp): bigint => signed(stamp, 5);

function isSame(one: Stamp, other: Stamp, words: number): boolean {
  for (let at = 0; at < words; at += 1) {
    if (one.words[one.at + at] !== other.words[other.at + at]) return false;
  }
  return true;
}

/** Whether an entry is in the same state; nobody can set ctime. */
export function isSameStamp(one: Stamp, other: Stamp): boolean {
  return isSame(one, other, kStampWords);
}

/** Whether a path still leads to the same directory, with the same mode, whatever it holds. */
export function isSameDirectory(one: Stamp, other: Stamp): boolean {
  return isSame(one, other, kPlaceWords);
}

const kTries = 5;

/** A file's content, and the state in which it had that. */
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
 * The SHA-256 of a regular file, of one moment: a file that is written to meanwhile is read again.
 * @throws (rejects) WorkspaceError ERR_WORKSPACE_CHANGING where it goes on changing; an Error of
 * `node:fs`.
 */
export async function digestOf(tree: Beneath, path: string): Promise<Digested> {
  for (let tried = 0; tried < kTries; tried += 1) {
    const digested = await tryDigest(tree, path);
    if (digested) return digested;
  }
  const message = `${path} changes all the time that it is read`;
  throw new WorkspaceError(message, "ERR_WORKSPACE_CHANGING");
}

/** Reads files for hashing and sending, in slices, and sees whether they change meanwhile. */

const kBlock = 256 * 1024;
/** Bytes after which whatever else waits for the thread has its turn. */
const kSlice = 8 * 1024 * 1024;

const others = () => new Promise<void>((resolve) => setImmediate(resolve));

/**
 * The bytes of a file, at most `most` of them. A chunk is valid until the next is asked for, unless
 * `fresh` asks for memory of its own for each.
 * @returns what the file was before and after.
 * @throws an Error of `node:fs`; ENXIO for what is no regular file.
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
