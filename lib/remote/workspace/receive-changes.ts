/** The caller's half after a run: receives the worker's delta, and an archive of the changed entries. */

import { receiveBlobs } from "./blobs.js";
import { type DirectoryEntry, type Entry, inWriteOrder, kTop, parentOf } from "./content/entry.js";
import { applied, type Bounds, type Delta, type Manifest, parseDelta } from "./content/manifest.js";
import { badMessage, type Exchange } from "./exchange.js";

const kOwn = 0o700;

/** Receives an archive; resolves when more may be written. */
export type ArchiveSink = (bytes: Uint8Array) => Promise<void>;

/** Received changes, checked as far as possible without their contents. */
export type Incoming = {
  readonly delta: Delta;
  /** The state of the workspace after the changes. */
  readonly next: Manifest;
};

/**
 * Receives the changes of a run.
 * @throws (rejects) WorkspaceError ERR_WORKSPACE_MESSAGE if they do not fit the state sent to the worker,
 * ERR_WORKSPACE_LIMIT beyond the bounds
 */
export async function receiveDelta(
  exchange: Exchange,
  from: Manifest,
  bounds: Bounds,
): Promise<Incoming> {
  const kMostTextPerEntry = 4352; // a usual longest path
  const { header } = await exchange.receive("changes");
  if (header.bytes > 2 * bounds.maxEntries * kMostTextPerEntry) {
    throw badMessage("a change that is too long");
  }
  const delta = parseDelta((await exchange.bytes(header.bytes)).toString(), bounds);
  if (delta.removed.includes(kTop)) throw badMessage("the end of the workspace itself");
  return { delta, next: applied(from, delta, bounds) };
}

/** Returns the paths to remove before the archive is unpacked, each with all entries below it. */
export function goingFirst(from: Manifest, { removed, set }: Delta): string[] {
  const inTheWay = set.filter(({ path, type }) => {
    const was = from.find(path);
    return was !== undefined && (was.type !== type || type === "symlink");
  });
  const going: string[] = [];
  const isCovered = new Set<string>();
  for (const path of [...removed, ...inTheWay.map((entry) => entry.path)].sort()) {
    let above = path;
    while (above !== kTop && !isCovered.has(above)) above = parentOf(above);
    if (above !== kTop) continue;
    isCovered.add(path);
    going.push(path);
  }
  return going;
}

/** Returns directories without owner permissions into which entries will be put. */
function closedOnes(from: Manifest, { set }: Delta): DirectoryEntry[] {
  const isSet = new Set(set.map(({ path }) => path));
  const parents = new Set(set.map(({ path }) => parentOf(path)));
  return from.entries.flatMap((entry) => {
    if (entry.type !== "directory" || isSet.has(entry.path) || !parents.has(entry.path)) return [];
    return (entry.mode & kOwn) === kOwn ? [] : [entry];
  });
}

/** Writes small records together. */
class Archive {
  readonly #sink: ArchiveSink;

  constructor(sink: ArchiveSink) {
    this.#sink = sink;
  }

  async add(entries: readonly Entry[]): Promise<void> {
    const kAtOnce = 256;
    for (let at = 0; at < entries.length; at += kAtOnce) {
      await this.#sink(Buffer.concat(entries.slice(at, at + kAtOnce).map(recordOf)));
    }
  }

  async write(bytes: Uint8Array): Promise<void> {
    if (bytes.byteLength > 0) await this.#sink(bytes);
  }
}

/**
 * Writes an archive of the changes while their contents arrive and are checked. Directories stay open to their owner
 * until they are complete.
 * @throws (rejects) as `receiveBlobs`; the caller then discards what was unpacked
 */
export async function receiveArchive(
  exchange: Exchange,
  from: Manifest,
  delta: Delta,
  sink: ArchiveSink,
): Promise<void> {
  const archive = new Archive(sink);
  const closed = closedOnes(from, delta);
  const directories = delta.set.flatMap((entry) => (entry.type === "directory" ? [entry] : []));
  const all = [...closed, ...directories].sort((one, other) => (one.path < other.path ? -1 : 1));
  await archive.add(all.map((entry) => ({ ...entry, mode: entry.mode | kOwn })));
  await archive.add(delta.set.filter(({ type }) => type === "symlink"));
  const files = inWriteOrder(delta.set);
  if (files.length > 0) {
    await receiveBlobs(exchange, files, {
      begin: (file) => archive.add([file]),
      write: (bytes) => archive.write(bytes),
      end: ({ size }) => archive.write(paddingOf(size)),
    });
  }
  await archive.add(all.filter(({ mode }) => (mode & kOwn) !== kOwn).reverse());
  await archive.write(kArchiveEnd);
}

/**
 * Records of a tar archive in GNU's format, which GNU tar, BusyBox and libarchive read. Names and targets are any text
 * without a NUL, of any length.
 */

const kBlock = 512;
const kNameField = 100;
const kMostOctal = 8 ** 11;
const kKinds = { file: "0", symlink: "2", directory: "5", longName: "L", longTarget: "K" } as const;

type Fields = {
  name: Uint8Array;
  kind: (typeof kKinds)[keyof typeof kKinds];
  mode: number;
  size: number;
  target?: Uint8Array;
};

function writeOctal(block: Buffer, at: number, length: number, value: number): void {
  block.write(`${value.toString(8).padStart(length - 1, "0")}\0`, at, length, "latin1");
}

/** Writes a size. Sizes of 8 GiB and more are binary, marked by the first bit. */
function writeSize(block: Buffer, size: number): void {
  const kAt = 124;
  const kLength = 12;
  if (size < kMostOctal) {
    writeOctal(block, kAt, kLength, size);
    return;
  }
  block[kAt] = 0x80;
  block.writeBigUInt64BE(BigInt(size), kAt + kLength - 8);
}

function headerOf({ name, kind, mode, size, target }: Fields): Buffer {
  const block = Buffer.alloc(kBlock);
  block.set(name.subarray(0, kNameField), 0);
  writeOctal(block, 100, 8, mode);
  writeOctal(block, 108, 8, 0);
  writeOctal(block, 116, 8, 0);
  writeSize(block, size);
  writeOctal(block, 136, 12, 0);
  block.fill(" ", 148, 156); // the checksum is computed with spaces in its own field
  block.write(kind, 156, "latin1");
  if (target) block.set(target.subarray(0, kNameField), 157);
  block.write("ustar  \0", 257, "latin1");
  let sum = 0;
  for (const byte of block) sum += byte;
  block.write(`${sum.toString(8).padStart(6, "0")}\0 `, 148, "latin1");
  return block;
}

/** Returns the bytes that fill the last block of a content. */
function paddingOf(size: number): Buffer {
  return Buffer.alloc((kBlock - (size % kBlock)) % kBlock);
}

function longField(kind: Fields["kind"], text: Buffer): Buffer[] {
  if (text.length < kNameField) return [];
  const size = text.length + 1;
  const name = Buffer.from("././@LongLink");
  const content = Buffer.concat([text, Buffer.alloc(1), paddingOf(size)]);
  return [headerOf({ name, kind, mode: 0, size }), content];
}

/** Returns the header of a file, or the whole record of another entry. */
function recordOf(entry: Entry): Buffer {
  const slash = entry.type === "directory" ? "/" : "";
  const name = Buffer.from(`./${entry.path}${slash}`);
  const target = Buffer.from(entry.type === "symlink" ? entry.target : "");
  const header = headerOf({
    name,
    kind: kKinds[entry.type],
    mode: entry.type === "symlink" ? 0o777 : entry.mode,
    size: entry.type === "file" ? entry.size : 0,
    target,
  });
  return Buffer.concat([
    ...longField(kKinds.longTarget, target),
    ...longField(kKinds.longName, name),
    header,
  ]);
}

/** The end of an archive. */
const kArchiveEnd: Uint8Array = new Uint8Array(2 * kBlock);
