/**
 * Reads tar archives entry by entry: ustar, V7, GNU and PAX, with long names and sparse files. Names are bytes, one
 * character each ("latin1"), since not all are UTF-8. Only what was asked for is in memory.
 *
 * Blocks of headers are decoded by node-tar. What is around them is done here: node-tar and the other libraries read names
 * as UTF-8, so that two files whose names are none become one, and take the maps of sparse files for contents. Where
 * archives may be read in several ways, this one reads them as Go's package does, with which Docker, containerd, Podman
 * and umoci unpack.
 */

import { readSync } from "node:fs";
import { Header } from "tar/header";

import { ImageError } from "../../errors.js";

const kBlock = 512;
/** Bytes that a PAX header or a long name may have. */
const kMostHeaderBytes = 4 * 1024 ** 2;
/** Pieces that a sparse file may have. */
const kMostPieces = 1_000_000;
/** Bytes that are read from a file at once. */
const kReadBytes = 1024 ** 2;

const padding = (size: number) => (kBlock - (size % kBlock)) % kBlock;

/** An archive that breaks its format's rules. */
export function malformed(message: string): ImageError {
  return new ImageError(message, { code: "ERR_IMAGE_INVALID" });
}

/** Where the bytes of an archive come from. */
export type ByteSource = {
  /** Bytes that were read or skipped. */
  readonly position: number;
  /** Returns some bytes, at most so many; undefined at the end. */
  some(most: number): Promise<Buffer | undefined>;
  skip(count: number): Promise<void>;
};

/** The bytes of a stream's chunks. */
export class ChunkSource implements ByteSource {
  position = 0;
  readonly #chunks: AsyncIterator<Buffer>;
  #chunk: Buffer = Buffer.alloc(0);

  constructor(chunks: AsyncIterable<Buffer>) {
    this.#chunks = chunks[Symbol.asyncIterator]();
  }

  async some(most: number): Promise<Buffer | undefined> {
    while (this.#chunk.length === 0) {
      const { done, value } = await this.#chunks.next();
      if (done) return undefined;
      this.#chunk = value;
    }
    const taken = this.#chunk.subarray(0, most);
    this.#chunk = this.#chunk.subarray(taken.length);
    this.position += taken.length;
    return taken;
  }

  async skip(count: number): Promise<void> {
    for (let left = count; left > 0; ) {
      const piece = await this.some(left);
      if (piece === undefined) throw malformed("it ends in the middle of an entry");
      left -= piece.length;
    }
  }
}

/** The bytes of an open file; what is skipped is not read. */
export class FileSource implements ByteSource {
  position: number;
  readonly #descriptor: number;
  readonly #end: number;

  constructor(descriptor: number, start: number, size: number) {
    this.#descriptor = descriptor;
    this.position = start;
    this.#end = start + size;
  }

  async some(most: number): Promise<Buffer | undefined> {
    const wanted = Math.min(most, this.#end - this.position, kReadBytes);
    if (wanted <= 0) return undefined;
    const piece = Buffer.allocUnsafe(wanted);
    const count = readSync(this.#descriptor, piece, 0, wanted, this.position);
    if (count === 0) return undefined; // it was cut off meanwhile
    this.position += count;
    return piece.subarray(0, count);
  }

  async skip(count: number): Promise<void> {
    if (count > this.#end - this.position) throw malformed("it ends in the middle of an entry");
    this.position += count;
  }
}

/** Data of a sparse file: bytes, from the beginning of the file and in number. */
type SparsePiece = { offset: number; length: number };

/** One entry of an archive. */
export type TarEntry = {
  /** As it is in the archive: latin1, not checked. */
  name: string;
  kind: "file" | "link" | "symlink" | "directory" | "fifo" | "device";
  /** The twelve bits of permissions. */
  mode: number;
  /** Seconds since 1970, with fractions. */
  mtime: number;
  /** Of a link what it leads to: latin1, not checked. */
  target: string;
  /** Of a file: bytes, of a sparse one with its holes. */
  size: number;
  /** The data of a sparse file, one after another in the archive; undefined: all is data. */
  pieces: SparsePiece[] | undefined;
  /** True if it has the extended attribute security.capability. */
  hasCapabilities: boolean;
};

type Records = Map<string, string>;

/** Of a PAX header; texts are bytes. `pairs` are the pieces of a sparse file in the oldest PAX format, whose keys repeat. */
function paxRecords(bytes: Buffer): { records: Records; pairs: number[] } {
  const records: Records = new Map();
  const pairs: number[] = [];
  for (let at = 0; at < bytes.length; ) {
    const space = bytes.indexOf(0x20, at);
    const length = space < 0 ? 0 : number(bytes.toString("latin1", at, space), 10);
    const end = at + length;
    if (length < 5 || end > bytes.length || end <= space || bytes[end - 1] !== 0x0a) {
      throw malformed("it has a PAX header whose records are not as long as they say");
    }
    const record = bytes.toString("latin1", space + 1, end - 1);
    const equals = record.indexOf("=");
    if (equals <= 0) throw malformed("it has a PAX header with a record without a name");
    const key = record.slice(0, equals);
    const value = record.slice(equals + 1);
    if (key === "GNU.sparse.offset" || key === "GNU.sparse.numbytes") pairs.push(number(value, 10));
    else records.set(key, value);
    at = end;
  }
  return { records, pairs };
}

function number(text: string, radix: 8 | 10): number {
  const digits = radix === 8 ? /^[0-7]{1,17}$/ : /^\d{1,16}$/;
  const value = digits.test(text) ? Number.parseInt(text, radix) : Number.NaN;
  if (!Number.isSafeInteger(value)) {
    throw malformed(`it has ${JSON.stringify(text.slice(0, 40))} where a number is expected`);
  }
  return value;
}

function piecesOf(numbers: readonly number[], size: number): SparsePiece[] {
  if (numbers.length % 2 !== 0 || numbers.length > 2 * kMostPieces) {
    throw malformed("it has a sparse file whose map is not made of pairs");
  }
  const pieces: SparsePiece[] = [];
  let end = 0;
  for (let at = 0; at < numbers.length; at += 2) {
    const [offset, length] = numbers.slice(at, at + 2) as [number, number];
    if (offset < end || offset + length > size) {
      throw malformed("it has a sparse file whose data is in no order or beyond its end");
    }
    end = offset + length;
    pieces.push({ offset, length });
  }
  return pieces;
}

/** By their type flags; "S" is a sparse file in GNU's oldest format. */
const kKinds: Readonly<Record<string, TarEntry["kind"]>> = {
  "\0": "file",
  "0": "file",
  "1": "link",
  "2": "symlink",
  "3": "device",
  "4": "device",
  "5": "directory",
  "6": "fifo",
  "7": "file",
  S: "file",
};

/** What the fields of a header say, before those of others are put in their place. */
type Fields = {
  flag: string;
  name: string;
  target: string;
  mode: number;
  size: number;
  mtime: number;
};

/** A field's bytes up to a NUL. */
function field(block: Buffer, start: number, end: number): string {
  const zero = block.indexOf(0, start);
  return block.toString("latin1", start, zero < 0 ? end : Math.min(zero, end));
}

/** Undefined for a block of zeros, which ends an archive. @throws ImageError ERR_IMAGE_INVALID */
function decoded(block: Buffer): Fields | undefined {
  const header = new Header(block);
  if (header.nullBlock) {
    if (block.every((byte) => byte === 0)) return undefined;
    throw malformed("it is no tar archive");
  }
  if (!header.cksumValid) throw malformed("it is no tar archive, or has a header that is damaged");
  const { size, mode = 0, mtime } = header;
  if (size === undefined || !Number.isSafeInteger(size))
    throw malformed("it has an entry without a size");
  const isUstar = block.toString("latin1", 257, 265) === "ustar\x0000";
  const isStar = block.toString("latin1", 508, 512) === "tar\0";
  const prefix = isUstar ? field(block, 345, isStar ? 476 : 500) : "";
  const name = field(block, 0, 100);
  return {
    flag: String.fromCharCode(block[156] as number),
    name: prefix === "" ? name : `${prefix}/${name}`,
    target: field(block, 157, 257),
    ...{ mode: mode & 0o7777, size },
    mtime: (mtime?.getTime() ?? 0) / 1000,
  };
}

/** Reads the entries of one archive. */
export class TarReader {
  readonly #source: ByteSource;
  /** Bytes of the entry's data, and of what fills its last block, that are still in the archive. */
  #left = 0;
  #padding = 0;

  constructor(source: ByteSource) {
    this.#source = source;
  }

  /**
   * Returns the next entry; undefined at the end. What is left of the last one's data is skipped.
   * @throws ImageError ERR_IMAGE_INVALID
   */
  async next(): Promise<TarEntry | undefined> {
    await this.#source.skip(this.#left + this.#padding);
    this.#left = 0;
    this.#padding = 0;
    let name = "";
    let target = "";
    let records: Records = new Map();
    let pairs: number[] = [];
    for (;;) {
      const block = await this.#block();
      if (block === undefined) return undefined;
      const fields = decoded(block);
      if (fields === undefined) return this.#expectEnd();
      switch (fields.flag) {
        case "L":
          name = longName(await this.#headerData(fields.size));
          break;
        case "K":
          target = longName(await this.#headerData(fields.size));
          break;
        case "x":
          ({ records, pairs } = paxRecords(await this.#headerData(fields.size)));
          break;
        case "g": // a header for all entries; a label, and a part of another archive: they are nothing to unpack
        case "V":
        case "M":
          await this.#source.skip(fields.size + padding(fields.size));
          break;
        default: {
          const given = {
            name: name || records.get("path") || fields.name,
            target: target || records.get("linkpath") || fields.target,
          };
          return this.#entry(block, { ...fields, ...given }, records, pairs);
        }
      }
    }
  }

  /** Returns some of the entry's data as it is in the archive, in order; undefined at its end. */
  async data(most = Number.MAX_SAFE_INTEGER): Promise<Buffer | undefined> {
    if (this.#left === 0) return undefined;
    const piece = await this.#source.some(Math.min(this.#left, most));
    if (piece === undefined) throw malformed("it ends in the middle of an entry");
    this.#left -= piece.length;
    return piece;
  }

  async #exactly(count: number): Promise<Buffer> {
    const pieces: Buffer[] = [];
    for (let left = count; left > 0; ) {
      const piece = await this.#source.some(left);
      if (piece === undefined) throw malformed("it ends in the middle of a header");
      pieces.push(piece);
      left -= piece.length;
    }
    return pieces.length === 1 ? (pieces[0] as Buffer) : Buffer.concat(pieces);
  }

  /** The next block of the archive; undefined if there is none, which some archives end with. */
  async #block(): Promise<Buffer | undefined> {
    const first = await this.#source.some(kBlock);
    if (first === undefined || first.length === kBlock) return first;
    return Buffer.concat([first, await this.#exactly(kBlock - first.length)]);
  }

  async #headerData(size: number): Promise<Buffer> {
    if (!(size <= kMostHeaderBytes)) throw malformed("it has a header that is too long");
    const data = await this.#exactly(size);
    await this.#source.skip(padding(size));
    return data;
  }

  async #expectEnd(): Promise<undefined> {
    const second = await this.#block();
    if (second?.some((byte) => byte !== 0)) throw malformed("something follows its end");
    return undefined;
  }

  async #entry(
    block: Buffer,
    fields: Fields,
    records: Records,
    pairs: readonly number[],
  ): Promise<TarEntry> {
    const { flag, mode, target } = fields;
    const kind = kKinds[flag];
    if (kind === undefined) {
      throw malformed(`it has an entry of the unknown type ${JSON.stringify(flag)}`);
    }
    const size = records.get("size");
    const stored = size ? number(size, 10) : fields.size;
    const name = records.get("GNU.sparse.name") || fields.name;
    const entry: TarEntry = {
      name,
      // The old sign of a directory.
      kind: kind === "file" && name.endsWith("/") ? "directory" : kind,
      ...{ mode, target, size: stored, pieces: undefined },
      mtime: seconds(records.get("mtime") ?? fields.mtime),
      hasCapabilities: records.has("SCHILY.xattr.security.capability"),
    };
    // Others have no data whatever their size says.
    if (kind !== "file") return { ...entry, size: 0 };
    this.#left = stored;
    this.#padding = padding(stored);
    if (entry.kind === "directory") return { ...entry, size: 0 };
    if (flag === "S") await this.#readOldMap(block, entry);
    else await this.#readSparse(entry, records, pairs);
    const data = entry.pieces?.reduce((sum, { length }) => sum + length, 0);
    if (data !== undefined && data !== this.#left) {
      throw malformed("it has a sparse file whose map is not that of its data");
    }
    return entry;
  }

  /** PAX, versions 0.0 and 0.1 (the map is in the header) and 1.0 (it is before the data). */
  async #readSparse(entry: TarEntry, records: Records, pairs: readonly number[]): Promise<void> {
    const real = records.get("GNU.sparse.realsize") ?? records.get("GNU.sparse.size");
    if (real === undefined) return;
    entry.size = number(real, 10);
    const major = records.get("GNU.sparse.major");
    const map = records.get("GNU.sparse.map");
    if (major === "1") entry.pieces = piecesOf(await this.#readMap(), entry.size);
    else if (map !== undefined) {
      const numbers = map === "" ? [] : map.split(",").map((each) => number(each, 10));
      entry.pieces = piecesOf(numbers, entry.size);
    } else entry.pieces = piecesOf(pairs, entry.size);
  }

  /** The map before the data: the number of pairs, and the pairs, a number a line, filled up to whole blocks. */
  async #readMap(): Promise<number[]> {
    const numbers: number[] = [];
    let text = "";
    let wanted = 1;
    while (numbers.length < wanted) {
      if (this.#left < kBlock) throw malformed("it has a sparse file without a map");
      text += (await this.#exactly(kBlock)).toString("latin1");
      this.#left -= kBlock;
      const lines = text.split("\n");
      text = lines.pop() as string;
      for (const line of lines) {
        if (numbers.length < wanted) numbers.push(number(line, 10));
        if (numbers.length === 1) wanted = 1 + 2 * Math.min(numbers[0] as number, kMostPieces + 1);
      }
      if (text.length > kBlock) throw malformed("it has a sparse file without a map");
    }
    return numbers.slice(1);
  }

  /** GNU's oldest format: four pieces in the header, and 21 in each block that follows it. */
  async #readOldMap(block: Buffer, entry: TarEntry): Promise<void> {
    const numberAt = (from: Buffer, at: number) => {
      const bytes = from.subarray(at, at + 12);
      if (bytes[0] === 0x80) return Number(bytes.readBigUInt64BE(4));
      const text = bytes.toString("latin1").replace(/[\0 ].*$/s, "");
      return text === "" ? undefined : number(text, 8);
    };
    const numbers: number[] = [];
    const take = (from: Buffer, start: number, count: number) => {
      for (let at = start; at < start + 24 * count; at += 24) {
        const [offset, length] = [numberAt(from, at), numberAt(from, at + 12)];
        if (offset === undefined || length === undefined) return;
        numbers.push(offset, length);
      }
    };
    entry.size = numberAt(block, 483) ?? entry.size;
    take(block, 386, 4);
    for (let goesOn = block[482] !== 0; goesOn; ) {
      const more = await this.#exactly(kBlock);
      take(more, 0, 21);
      goesOn = more[504] !== 0;
      if (numbers.length > 2 * kMostPieces)
        throw malformed("it has a sparse file of too many pieces");
    }
    entry.pieces = piecesOf(numbers, entry.size);
  }
}

/** A long name of GNU's: its bytes up to a NUL. */
const longName = (data: Buffer) => field(data, 0, data.length);

/** Of a file time: what file systems can have. */
function seconds(value: string | number): number {
  const time = Number(value);
  if (!Number.isFinite(time)) return 0;
  return Math.min(Math.max(time, -(2 ** 31)), 2 ** 34 - 1);
}
