/**
 * The images below the user's state directory. Each tree and each layout is a directory whose name says what is in it, and
 * which gets that name when it is complete. Who uses one has it locked, shared (flock(2)), until it lets go or its process
 * ends; who removes one has it locked alone.
 *
 *   trees/sha256-CHAIN/      an unpacked image
 *     tree/                  its files
 *     about.json             what is known of it; its time of change is when it was last used
 *   layouts/sha256-DIGEST/   a pulled image
 *     layout/                an OCI layout
 *   names/HASH.json          which layout a reference means; its time of change is when it was last used
 *   {trees,layouts}/.making-…, .removed-…   on the way; without a lock it was left by a process that died
 */

import { createHash, randomBytes } from "node:crypto";
import {
  closeSync,
  constants,
  fstatSync,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmdirSync,
  type Stats,
  statSync,
  unlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { open } from "node:fs/promises";
import { basename, join } from "node:path";

import { ImageError } from "../errors.js";
import { expectOwn } from "../home/kept-homes.js";
import { loadAddon } from "../native.js";
import { stateDirectory } from "../protected-paths.js";
import { type LeftOut, UnpackThread } from "./unpack-thread.js";

/** The two kinds of directories in the store. */
export type Kind = "trees" | "layouts";

/** The record of a tree, kept beside it. */
export type AboutTree = {
  /** See FoundImage. */
  chain: string;
  /** Of the image from which it was unpacked. */
  digest: string;
  /** The path or reference that the caller named. */
  image: string;
  bytes: number;
  entries: number;
  leftOut: LeftOut;
};

/** A reference that was pulled. */
export type PulledName = {
  reference: string;
  /** Of the manifest; the layout has it. */
  digest: string;
  /** Of the tree. */
  chain: string;
  /** Milliseconds since 1970. */
  pulledAt: number;
};

/** A lock on a directory of the store. */
export type Lock = { directory: string; release(): void };

const kMaking = ".making-";
const kRemoved = ".removed-";
const kWhole = /^sha256-[0-9a-f]{64}$/;
const kOpenDirectory = constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW;
/** How often a lock is asked for that somebody has for some system calls. */
const kTries = 1000;

const codeOf = (error: unknown) => (error as NodeJS.ErrnoException).code;

function isSame(one: Stats, other: Stats | undefined): boolean {
  return one.ino === other?.ino && one.dev === other.dev;
}

function unusable(message: string, cause?: unknown): ImageError {
  const fix = "set XDG_STATE_HOME to a directory that is yours alone";
  return new ImageError(message, { code: "ERR_IMAGE_STORE", fix, cause });
}

/** Locks an open directory, which is still what its path names; undefined: somebody else has it locked, or it is gone. */
function lockAt(directory: string, isShared: boolean): Lock | "busy" | undefined {
  let descriptor: number;
  try {
    descriptor = openSync(directory, kOpenDirectory);
  } catch (error) {
    if (codeOf(error) === "ENOENT") return undefined;
    throw error;
  }
  try {
    if (!loadAddon().lockFile(descriptor, isShared)) {
      closeSync(descriptor);
      return "busy";
    }
    if (isSame(fstatSync(descriptor), statSync(directory, { throwIfNoEntry: false }))) {
      return new HeldLock(directory, descriptor);
    }
  } catch (error) {
    closeSync(descriptor);
    throw error;
  }
  closeSync(descriptor);
  return undefined;
}

class HeldLock implements Lock {
  directory: string;
  descriptor: number;

  constructor(directory: string, descriptor: number) {
    this.directory = directory;
    this.descriptor = descriptor;
  }

  release(): void {
    if (this.descriptor < 0) return;
    closeSync(this.descriptor);
    this.descriptor = -1;
  }
}

const digestName = (digest: string) => digest.replace(":", "-");

function jsonFile<Value>(file: string): Value | undefined {
  try {
    return JSON.parse(readFileSync(file, "utf8")) as Value;
  } catch {
    return undefined; // it is being removed
  }
}

/** Bytes of files below a directory; of a layout that has few. */
function bytesBelow(directory: string): number {
  let bytes = 0;
  for (const name of readdirSync(directory, { recursive: true, encoding: "utf8" })) {
    const status = lstatSync(join(directory, name), { throwIfNoEntry: false });
    if (status?.isFile()) bytes += status.size;
  }
  return bytes;
}

/** The images of this user. Calls block for well under a millisecond, but for those that return promises. */
export class ImageStore {
  /** Where it is. */
  readonly directory: string;

  /**
   * Makes what is missing.
   * @param directory default: below the user's state directory.
   * @throws ImageError ERR_IMAGE_STORE if it is not this user's alone, or can't be made.
   */
  constructor(directory: string = stateDirectory("images")) {
    this.directory = directory;
    try {
      for (const name of ["", "trees", "layouts", "names"]) {
        const each = join(directory, name);
        mkdirSync(each, { recursive: true, mode: 0o700 });
        expectOwn(each, lstatSync(each));
      }
    } catch (error) {
      throw unusable(`images can't be kept: ${(error as Error).message}`, error);
    }
  }

  /** The directory of a tree (by its chain) or a layout (by its digest), which need not be there. */
  place(kind: Kind, digest: string): string {
    return join(this.directory, kind, digestName(digest));
  }

  /** Locks one for use; undefined if there is none. */
  async use(kind: Kind, digest: string): Promise<Lock | undefined> {
    const directory = this.place(kind, digest);
    for (let tries = 0; tries < kTries; tries++) {
      const lock = lockAt(directory, true);
      if (lock !== "busy") return lock;
      // Who looks whether it is used, or removes it, has it for a moment.
      await open(this.directory, constants.O_RDONLY).then((handle) => handle.close());
    }
    throw unusable(`${directory} is locked by another program`);
  }

  /** Makes a directory to fill, which is locked. Whoever cleans up may be faster: then another one is made. */
  make(kind: Kind): Lock {
    for (let tries = 0; tries < kTries; tries++) {
      const name = `${kMaking}${process.pid}-${randomBytes(8).toString("hex")}`;
      const directory = join(this.directory, kind, name);
      mkdirSync(directory, { mode: 0o700 });
      const lock = lockAt(directory, false);
      if (lock !== undefined && lock !== "busy") return lock;
    }
    throw unusable(`no directory can be made in ${join(this.directory, kind)}`);
  }

  /**
   * Gives a directory that was filled its name, after the disk has all of it; the lock is one for use then. If another
   * process has been faster, its directory is used, and ours is still to be removed.
   */
  async complete(made: Lock, kind: Kind, digest: string): Promise<Lock> {
    const held = made as HeldLock;
    await loadAddon().syncFileSystem(held.descriptor);
    loadAddon().lockFile(held.descriptor, true);
    const directory = this.place(kind, digest);
    for (let tries = 0; tries < kTries; tries++) {
      try {
        renameSync(held.directory, directory);
        held.directory = directory;
        const parent = openSync(join(this.directory, kind), kOpenDirectory);
        try {
          await loadAddon().syncFileSystem(parent);
        } finally {
          closeSync(parent);
        }
        return held;
      } catch (error) {
        if (codeOf(error) !== "ENOTEMPTY" && codeOf(error) !== "EEXIST") throw error;
      }
      const others = await this.use(kind, digest);
      if (others !== undefined) return others;
    }
    throw unusable(`${directory} can't be made`);
  }

  /** Removes what was made and not completed. */
  async discard(made: Lock): Promise<void> {
    if (!basename(made.directory).startsWith(kMaking)) return; // it was completed, and may be in use
    try {
      rmdirSync(made.directory); // mostly there is nothing in it
      return made.release();
    } catch (error) {
      if (codeOf(error) !== "ENOTEMPTY") throw error;
    }
    const thread = new UnpackThread();
    try {
      await thread.remove([made.directory]);
    } finally {
      await thread.close();
      made.release();
    }
  }

  /** Removes what processes that died have left, and what was put aside. */
  async clean(thread: UnpackThread): Promise<void> {
    for (const kind of ["trees", "layouts"] as const) {
      for (const name of readdirSync(join(this.directory, kind))) {
        if (!name.startsWith(kMaking) && !name.startsWith(kRemoved)) continue;
        const lock = lockAt(join(this.directory, kind, name), false);
        if (lock === undefined || lock === "busy") continue;
        try {
          await thread.remove([lock.directory]);
        } finally {
          lock.release();
        }
      }
    }
  }

  /** Writes what is known of a tree into its directory. */
  writeAbout({ directory }: Lock, about: AboutTree): void {
    const options = { mode: 0o600 };
    writeFileSync(join(directory, "about.json"), JSON.stringify(about), options);
  }

  /** Returns what is known of a tree. */
  about({ directory }: Pick<Lock, "directory">): AboutTree | undefined {
    return jsonFile<AboutTree>(join(directory, "about.json"));
  }

  /** Notes that it is used now. */
  noteUse({ directory }: Lock): void {
    touch(join(directory, "about.json"));
  }

  #nameFile(reference: string): string {
    const hash = createHash("sha256").update(reference).digest("hex").slice(0, 32);
    return join(this.directory, "names", `${hash}.json`);
  }

  /** Has a reference mean a layout. */
  setName(name: PulledName): void {
    const file = this.#nameFile(name.reference);
    const made = `${file}.${process.pid}`;
    writeFileSync(made, JSON.stringify(name), { mode: 0o600 });
    renameSync(made, file);
  }

  /** Returns what a reference means; undefined if it was not pulled. Notes that it is used now. */
  name(reference: string): PulledName | undefined {
    const file = this.#nameFile(reference);
    const name = jsonFile<PulledName>(file);
    if (name?.reference !== reference) return undefined;
    touch(file);
    return name;
  }

  #names(): (PulledName & { file: string; usedAt: number })[] {
    const directory = join(this.directory, "names");
    return readdirSync(directory).flatMap((each) => {
      const file = join(directory, each);
      const name = each.endsWith(".json") ? jsonFile<PulledName>(file) : undefined;
      const status = statSync(file, { throwIfNoEntry: false });
      return name && status ? [{ ...name, file, usedAt: status.mtimeMs }] : [];
    });
  }

  #whole(kind: Kind): string[] {
    const names = readdirSync(join(this.directory, kind));
    return names
      .filter((name) => kWhole.test(name))
      .map((name) => join(this.directory, kind, name));
  }

  /** Lists the images, those that were used last first. */
  list(): ListedImage[] {
    const names = this.#names();
    const trees = this.#whole("trees").flatMap((directory) => {
      const about = this.about({ directory });
      const status = statSync(join(directory, "about.json"), { throwIfNoEntry: false });
      return about && status ? [{ about, directory, usedAt: status.mtimeMs }] : [];
    });
    const listed: ListedImage[] = names.map(({ file: _, usedAt, ...name }) => {
      const tree = trees.find(({ about }) => about.chain === name.chain);
      const layout = this.place("layouts", name.digest);
      return {
        ...{ name: name.reference, digest: name.digest, chain: name.chain },
        usedAt: new Date(Math.max(usedAt, tree?.usedAt ?? 0)),
        pulledAt: new Date(name.pulledAt),
        pulledBytes: statSync(layout, { throwIfNoEntry: false }) ? bytesBelow(layout) : 0,
        unpackedBytes: tree?.about.bytes,
        isUsed: tree !== undefined && isUsed(tree.directory),
      };
    });
    for (const { about, directory, usedAt } of trees) {
      if (names.some(({ chain }) => chain === about.chain)) continue;
      listed.push({
        ...{ name: about.image, digest: about.digest, chain: about.chain },
        ...{ usedAt: new Date(usedAt), pulledAt: undefined, pulledBytes: 0 },
        ...{ unpackedBytes: about.bytes, isUsed: isUsed(directory) },
      });
    }
    return listed.sort((one, other) => other.usedAt.getTime() - one.usedAt.getTime());
  }

  /**
   * Removes images that nobody uses, pulled and unpacked ones, and what dead processes have left.
   * @param unusedForMs only those that were used last so long ago. Default 0.
   */
  async prune(options: { unusedForMs?: number; isDryRun?: boolean } = {}): Promise<PrunedImages> {
    const { unusedForMs = 0, isDryRun = false } = options;
    const before = Date.now() - unusedForMs;
    const all = this.list().filter(({ usedAt }) => usedAt.getTime() <= before);
    const pruned: ListedImage[] = [];
    const locks: Lock[] = [];
    let freedBytes = 0;
    try {
      // Several references may mean the same tree; its own time of use is that of the last of them.
      const treeIsLeft = new Map<string, boolean>();
      for (const image of all) {
        const { chain } = image;
        if (image.unpackedBytes !== undefined && !treeIsLeft.has(chain)) {
          const lock = lockAt(this.place("trees", chain), false);
          treeIsLeft.set(chain, lock === "busy");
          if (lock !== undefined && lock !== "busy") this.#putAside(lock, "trees", locks, isDryRun);
        }
        if (!treeIsLeft.get(chain)) pruned.push(image);
      }
      const orphanBytes = this.#forget(pruned, locks, isDryRun);
      freedBytes = freedBy(pruned) + orphanBytes;
      if (!isDryRun) await this.#clear(locks);
    } finally {
      for (const lock of locks) lock.release();
    }
    return { pruned, left: all.filter((image) => !pruned.includes(image)), freedBytes };
  }

  /** The name goes at once. In a dry run it stays. */
  #putAside(lock: Lock, kind: Kind, locks: Lock[], isDryRun: boolean): void {
    locks.push(lock);
    if (isDryRun) return;
    const name = `${kRemoved}${process.pid}-${randomBytes(8).toString("hex")}`;
    const aside = join(this.directory, kind, name);
    renameSync(lock.directory, aside);
    lock.directory = aside;
  }

  /**
   * The names of these images, and the layouts that no name means then. Returns the bytes of those that no name had meant
   * before: what a reference meant until it was pulled anew.
   */
  #forget(images: readonly ListedImage[], locks: Lock[], isDryRun: boolean): number {
    const known = new Set(images.map(({ digest }) => this.place("layouts", digest)));
    const others = new Set(this.#names().map(({ digest }) => this.place("layouts", digest)));
    const orphans = this.#whole("layouts").filter((each) => !known.has(each) && !others.has(each));
    const orphanBytes = orphans.reduce((sum, each) => sum + bytesBelow(each), 0);
    if (isDryRun) return orphanBytes;
    for (const { name, pulledAt } of images) {
      if (pulledAt !== undefined) unlinkIfThere(this.#nameFile(name));
    }
    const meant = new Set(this.#names().map(({ digest }) => this.place("layouts", digest)));
    for (const directory of this.#whole("layouts")) {
      const lock = meant.has(directory) ? undefined : lockAt(directory, false);
      if (lock !== undefined && lock !== "busy") this.#putAside(lock, "layouts", locks, false);
    }
    return orphanBytes;
  }

  async #clear(locks: readonly Lock[]): Promise<void> {
    const thread = new UnpackThread();
    try {
      await thread.remove(locks.map(({ directory }) => directory));
      await this.clean(thread);
    } finally {
      await thread.close();
    }
  }
}

/** An image of the store. */
export type ListedImage = {
  /** The reference that was pulled; of others what they were unpacked from. */
  name: string;
  digest: string;
  chain: string;
  usedAt: Date;
  /** Undefined: it was not pulled. */
  pulledAt: Date | undefined;
  /** Bytes of the layout. */
  pulledBytes: number;
  /** Bytes of the tree's files; undefined: it is not unpacked. */
  unpackedBytes: number | undefined;
  /** True if a process uses the tree now. */
  isUsed: boolean;
};

/** The result of `prune`: images that it removed, and those that it left because they are in use. */
export type PrunedImages = {
  pruned: ListedImage[];
  left: ListedImage[];
  /** Bytes of files; what several images had in common counts once. */
  freedBytes: number;
};

function isUsed(directory: string): boolean {
  const lock = lockAt(directory, false);
  if (lock === "busy") return true;
  lock?.release();
  return false;
}

/** Layouts by their digests, and trees by their chains. */
function freedBy(images: readonly ListedImage[]): number {
  const sizes = new Map<string, number>();
  for (const { digest, chain, pulledBytes, unpackedBytes = 0 } of images) {
    if (pulledBytes > 0) sizes.set(`layout ${digest}`, pulledBytes);
    sizes.set(`tree ${chain}`, unpackedBytes);
  }
  return [...sizes.values()].reduce((sum, bytes) => sum + bytes, 0);
}

function touch(file: string): void {
  const now = new Date();
  try {
    utimesSync(file, now, now);
  } catch (error) {
    if (codeOf(error) !== "ENOENT") throw error;
  }
}

function unlinkIfThere(file: string): void {
  try {
    unlinkSync(file);
  } catch (error) {
    if (codeOf(error) !== "ENOENT") throw error;
  }
}
