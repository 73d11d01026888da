/**
 * Applies the layers of an image to an empty directory, one after another, as an ordinary user. Blocks; for a thread.
 *
 * Nothing is ever reached through a link: all directories of the tree are in memory, and links in the way of a name are
 * read and followed inside the tree, as containerd (fs.RootPath) and umoci (SecureJoin) do. The directory is nobody
 * else's, so that what is in memory stays true. Directories can be written until the end, whatever their modes are.
 */

import {
  chmodSync,
  closeSync,
  fchmodSync,
  ftruncateSync,
  futimesSync,
  linkSync,
  lutimesSync,
  mkdirSync,
  openSync,
  readdirSync,
  readlinkSync,
  rmdirSync,
  symlinkSync,
  unlinkSync,
  utimesSync,
  writeSync,
} from "node:fs";

import type { ImageLimits, LeftOut } from "../unpack-thread.js";
import { tooLarge } from "./layer-bytes.js";
import { malformed, type TarEntry, type TarReader } from "./tar-entries.js";

const kWhiteout = ".wh.";
const kOpaque = ".wh..wh..opq";
/** What aufs keeps for itself. */
const kOfAufs = ".wh..wh.";
/** Links that are followed for one name, as the kernel does. */
const kMostLinks = 40;
const kMostNameBytes = 255;
/** Bytes of files are gathered to so many before they are written. */
const kPlainMode = 0o755;
/** setuid and setgid: a sandbox has no_new_privs, so they do nothing there, and on the host they are a trap. */
const kSetIds = 0o6000;

/** A directory of the tree. */
type Directory = {
  /** Below the tree's own, without a slash at the end; "" for the tree's own. */
  path: string;
  parent: Directory | undefined;
  children: Map<string, Directory>;
  mode: number;
  /** Undefined: that of the last change. */
  mtime: number | undefined;
  /** The names in it that the layer which is applied has. */
  upper: Set<string> | undefined;
};

/** Where an entry is put. */
type Place = { directory: Directory; name: string };

/** Makes a FIFO, which Node.js can't. */
export type MakeFifo = (path: Buffer, mode: number) => Promise<void>;

/** A name as people may read it. */
const shown = (name: string) =>
  JSON.stringify(Buffer.from(name, "latin1").toString("utf8").slice(0, 200));

const codeOf = (error: unknown) => (error as NodeJS.ErrnoException).code;

/** The tree of an image. */
export class Tree {
  readonly #base: string;
  readonly #limits: ImageLimits;
  readonly #makeFifo: MakeFifo;
  readonly #root: Directory = {
    ...{ path: "", parent: undefined, children: new Map(), upper: undefined },
    ...{ mode: kPlainMode, mtime: undefined },
  };
  /** Those with names of the layer that is applied. */
  readonly #touched: Directory[] = [];
  /** Devices, which there are not: hard links to them are none either. */
  #devices = new Set<string>();
  #entries = 0;
  #bytes = 0;
  readonly leftOut: LeftOut = { devices: 0, capabilities: 0, setIds: 0 };

  /** @param directory empty, and the user's own. */
  constructor(directory: string, limits: ImageLimits, makeFifo: MakeFifo) {
    this.#base = Buffer.from(directory).toString("latin1");
    this.#limits = limits;
    this.#makeFifo = makeFifo;
  }

  /** Bytes of files, with the holes of sparse ones, and with those that a later layer has replaced. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Entries of all layers, and directories that no layer has an entry for. */
  get entries(): number {
    return this.#entries;
  }

  /** @throws ImageError ERR_IMAGE_INVALID or ERR_IMAGE_TOO_LARGE; errors of Node's file system. */
  async apply(layer: TarReader): Promise<void> {
    for (let entry = await layer.next(); entry !== undefined; entry = await layer.next()) {
      this.#count();
      await this.#add(entry, layer);
    }
    for (const directory of this.#touched.splice(0)) directory.upper = undefined;
  }

  /** Gives directories their modes and times, those within first. */
  finish(directory: Directory = this.#root): void {
    for (const child of directory.children.values()) this.finish(child);
    const path = this.#bytesOf(directory.path);
    if (directory.mtime !== undefined) utimesSync(path, directory.mtime, directory.mtime);
    chmodSync(path, directory.mode);
  }

  #count(): void {
    this.#entries += 1;
    const { maxEntries } = this.#limits;
    if (this.#entries > maxEntries) throw tooLarge("maxEntries", `${maxEntries} entries`);
  }

  #bytesOf(path: string): Buffer {
    return Buffer.from(path === "" ? this.#base : `${this.#base}/${path}`, "latin1");
  }

  #pathOf({ directory, name }: Place): string {
    return directory.path === "" ? name : `${directory.path}/${name}`;
  }

  /**
   * The parts of a name in an archive. One that leads out by ".." is refused, as Docker does: no tool that makes images
   * writes it. A slash at the beginning means the tree's own directory, to all of them.
   */
  #partsOf(name: string, what: string): string[] {
    const { maxPathBytes } = this.#limits;
    if (name.length > maxPathBytes)
      throw tooLarge("maxPathBytes", `${maxPathBytes} bytes in a path`);
    if (name.includes("\0")) throw malformed(`${what} has a NUL in ${shown(name)}`);
    const parts: string[] = [];
    for (const part of name.split("/")) {
      if (part === "" || part === ".") continue;
      if (part.length > kMostNameBytes) {
        throw malformed(`${what} has a name of more than ${kMostNameBytes} bytes: ${shown(part)}`);
      }
      if (part !== "..") parts.push(part);
      else if (parts.pop() === undefined)
        throw malformed(`${what} leads out of the image: ${shown(name)}`);
    }
    return parts;
  }

  /** The directory that these names lead to; those that are missing are made. */
  #walk(parts: readonly string[], what: string): Directory {
    const left = [...parts].reverse();
    let at = this.#root;
    for (let links = 0; ; ) {
      const name = left.pop();
      if (name === undefined) return at;
      if (name === "" || name === ".") continue;
      if (name === "..") {
        at = at.parent ?? at;
        continue;
      }
      const child = at.children.get(name);
      if (child !== undefined) {
        at = child;
        continue;
      }
      const target = this.#linkAt({ directory: at, name });
      if (target === undefined) {
        this.#count();
        at = this.#makeDirectory({ directory: at, name });
        continue;
      }
      links += 1;
      if (links > kMostLinks) throw malformed(`${what} has too many links in its way`);
      if (target.startsWith("/")) at = this.#root;
      left.push(...target.split("/").reverse());
    }
  }

  /** What a link leads to; undefined for anything else, and for nothing. */
  #linkAt(place: Place): string | undefined {
    try {
      return readlinkSync(this.#bytesOf(this.#pathOf(place)), "latin1");
    } catch (error) {
      if (codeOf(error) === "ENOENT" || codeOf(error) === "EINVAL") return undefined;
      throw this.#refused(error, this.#pathOf(place));
    }
  }

  /** In the place of anything else that has the name. */
  #makeDirectory(place: Place): Directory {
    const { directory, name } = place;
    const path = this.#pathOf(place);
    this.#make(place, (bytes) => mkdirSync(bytes, 0o700));
    const made: Directory = {
      ...{ path, parent: directory, children: new Map(), upper: undefined },
      ...{ mode: kPlainMode, mtime: undefined },
    };
    directory.children.set(name, made);
    return made;
  }

  /** Has `make` make something of a name; what has it is removed first. */
  #make<Value>(place: Place, make: (path: Buffer) => Value): Value {
    const path = this.#bytesOf(this.#pathOf(place));
    try {
      if (place.directory.children.has(place.name)) this.#remove(place);
      try {
        return make(path);
      } catch (error) {
        if (codeOf(error) !== "EEXIST") throw error;
        unlinkSync(path);
        return make(path);
      }
    } catch (error) {
      throw this.#refused(error, this.#pathOf(place));
    }
  }

  #refused(error: unknown, path: string): unknown {
    if (codeOf(error) !== "ENAMETOOLONG" && codeOf(error) !== "EMLINK") return error;
    return malformed(
      `the path ${shown(path)} can't be made: ${(error as Error).message.slice(0, 60)}`,
    );
  }

  /** Whatever it is. */
  #remove(place: Place): void {
    const { directory, name } = place;
    const child = directory.children.get(name);
    const path = this.#bytesOf(this.#pathOf(place));
    if (child === undefined) {
      try {
        unlinkSync(path);
      } catch (error) {
        if (codeOf(error) !== "ENOENT") throw error;
      }
      return;
    }
    for (const each of this.#namesIn(child)) this.#remove({ directory: child, name: each });
    rmdirSync(path);
    directory.children.delete(name);
  }

  #namesIn(directory: Directory): string[] {
    return readdirSync(this.#bytesOf(directory.path), "latin1");
  }

  /** What lower layers have of it: the same layer's own stays, in whatever order the entries are. */
  #removeLower(place: Place): void {
    const { directory, name } = place;
    if (!directory.upper?.has(name)) {
      this.#remove(place);
      return;
    }
    const child = directory.children.get(name);
    if (child !== undefined) this.#empty(child);
  }

  #empty(directory: Directory): void {
    for (const name of this.#namesIn(directory)) this.#removeLower({ directory, name });
  }

  #mark({ directory, name }: Place): void {
    let at: Directory | undefined = directory;
    let own = name;
    while (at !== undefined) {
      if (at.upper === undefined) {
        at.upper = new Set();
        this.#touched.push(at);
      } else if (at.upper.has(own)) return;
      at.upper.add(own);
      own = at.path.slice(at.path.lastIndexOf("/") + 1);
      at = at.parent;
    }
  }

  async #add(entry: TarEntry, layer: TarReader): Promise<void> {
    const parts = this.#partsOf(entry.name, "an entry");
    const name = parts.pop();
    if (name === undefined) {
      if (entry.kind !== "directory")
        throw malformed("an entry would take the place of the image's root");
      this.#root.mode = entry.mode;
      this.#root.mtime = entry.mtime;
      return;
    }
    const directory = this.#walk(parts, `the entry ${shown(entry.name)}`);
    const place = { directory, name };
    if (name.startsWith(kWhiteout)) {
      this.#whiteOut(place);
      return;
    }
    this.#mark(place);
    const path = this.#pathOf(place);
    if (this.#devices.size > 0) this.#devices.delete(path);
    if (entry.hasCapabilities) this.leftOut.capabilities += 1;
    switch (entry.kind) {
      case "directory": {
        const made = directory.children.get(name) ?? this.#makeDirectory(place);
        made.mode = entry.mode;
        made.mtime = entry.mtime;
        return;
      }
      case "file":
        return this.#addFile(place, entry, layer);
      case "symlink":
        if (entry.target === "" || entry.target.includes("\0")) {
          throw malformed(`the link ${shown(path)} leads nowhere`);
        }
        this.#make(place, (bytes) => symlinkSync(Buffer.from(entry.target, "latin1"), bytes));
        lutimesSync(this.#bytesOf(path), entry.mtime, entry.mtime);
        return;
      case "link":
        this.#addLink(place, entry.target);
        return;
      case "fifo":
        this.#remove(place);
        await this.#makeFifo(this.#bytesOf(path), entry.mode & ~kSetIds);
        utimesSync(this.#bytesOf(path), entry.mtime, entry.mtime);
        return;
      case "device":
        this.#remove(place);
        this.#devices.add(path);
        this.leftOut.devices += 1;
        return;
    }
  }

  #whiteOut({ directory, name }: Place): void {
    if (name === kOpaque) {
      this.#empty(directory);
      return;
    }
    if (name.startsWith(kOfAufs)) return;
    const hidden = name.slice(kWhiteout.length);
    if (hidden === "" || hidden === "." || hidden === "..") {
      throw malformed(`the whiteout ${shown(name)} names nothing`);
    }
    this.#removeLower({ directory, name: hidden });
  }

  #addLink(place: Place, target: string): void {
    const path = this.#pathOf(place);
    const what = `the hard link ${shown(path)}`;
    const parts = this.#partsOf(target, what);
    const name = parts.pop();
    if (name === undefined) throw malformed(`${what} leads to the image's root`);
    const to = { directory: this.#walk(parts, what), name };
    const source = this.#pathOf(to);
    if (source === path) return;
    if (this.#devices.has(source)) {
      this.#remove(place);
      this.#devices.add(path);
      this.leftOut.devices += 1;
      return;
    }
    if (to.directory.children.has(name)) throw malformed(`${what} leads to a directory`);
    try {
      this.#make(place, (bytes) => linkSync(this.#bytesOf(source), bytes));
    } catch (error) {
      if (codeOf(error) !== "ENOENT") throw error;
      throw malformed(`${what} leads to ${shown(target)}, which is not there`);
    }
  }

  async #addFile(place: Place, entry: TarEntry, layer: TarReader): Promise<void> {
    this.#bytes += entry.size;
    const { maxBytes } = this.#limits;
    if (this.#bytes > maxBytes) throw tooLarge("maxBytes", `${maxBytes} bytes`);
    const descriptor = this.#make(place, (bytes) => openSync(bytes, "wx", 0o600));
    try {
      if (entry.pieces === undefined) {
        for (let piece = await layer.data(); piece !== undefined; piece = await layer.data()) {
          writeAll(descriptor, piece, null);
        }
      } else {
        for (const { offset, length } of entry.pieces) {
          for (let done = 0; done < length; ) {
            const piece = await layer.data(length - done);
            if (piece === undefined) break;
            writeAll(descriptor, piece, offset + done);
            done += piece.length;
          }
        }
        ftruncateSync(descriptor, entry.size);
      }
      if ((entry.mode & kSetIds) !== 0) this.leftOut.setIds += 1;
      fchmodSync(descriptor, entry.mode & ~kSetIds);
      futimesSync(descriptor, entry.mtime, entry.mtime);
    } finally {
      closeSync(descriptor);
    }
  }
}

function writeAll(descriptor: number, bytes: Buffer, position: number | null): void {
  for (let done = 0; done < bytes.length; ) {
    const at = position === null ? null : position + done;
    done += writeSync(descriptor, bytes, done, bytes.length - done, at);
  }
}

/** Removes what there is of a tree, or of anything else, also what its modes protect. Follows no link. Blocks. */
export function removeTree(path: Buffer): void {
  let names: Buffer[];
  try {
    unlinkSync(path);
    return;
  } catch (error) {
    if (codeOf(error) === "ENOENT") return;
    if (codeOf(error) !== "EISDIR" && codeOf(error) !== "EPERM") throw error;
  }
  try {
    chmodSync(path, 0o700); // a directory, as unlink(2) has said
    names = readdirSync(path, { encoding: "buffer" });
  } catch (error) {
    if (codeOf(error) === "ENOENT") return; // somebody else removes it, too
    throw error;
  }
  for (const name of names) removeTree(Buffer.concat([path, Buffer.from("/"), name]));
  try {
    rmdirSync(path);
  } catch (error) {
    if (codeOf(error) !== "ENOENT") throw error;
  }
}
