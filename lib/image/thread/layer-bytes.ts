/** The bytes of a layer as an archive, whatever it is compressed by, checked while they are read. Blocks; for a thread. */

import { createHash, type Hash } from "node:crypto";
import { closeSync, constants, fstatSync, openSync, readSync } from "node:fs";
import { pipeline, Readable, type Transform } from "node:stream";
import * as zlib from "node:zlib";

import { ImageError } from "../../errors.js";
import type { ImageLimits } from "../unpack-thread.js";
import { malformed } from "./tar-entries.js";

/** Bytes that are read from a file, and that are decompressed, at once. */
const kReadBytes = 512 * 1024;

/** A part of a file. `digest`: of the part; undefined where nobody has told it. */
export type FilePart = { file: string; start: number; size: number; digest?: string | undefined };

/** What an image is read from is the caller's, and may be anything: no FIFO is waited for. */
export function openRegular(file: string): number {
  const flags = constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOCTTY;
  const descriptor = openSync(file, flags);
  if (fstatSync(descriptor).isFile()) return descriptor;
  closeSync(descriptor);
  throw malformed(`${file} is not a regular file`);
}

const kHexDigits: Readonly<Record<string, number>> = { sha256: 64, sha512: 128 };

/** Returns a digest's parts. `what`: its name in messages. @throws ImageError if it is none that can be verified. */
export function parseDigest(value: unknown, what: string): { algorithm: string; hex: string } {
  const shown = JSON.stringify(String(value).slice(0, 200));
  const found = typeof value === "string" ? /^([a-z0-9]+):([0-9a-f]+)$/.exec(value) : null;
  const [, algorithm = "", hex = ""] = found ?? [];
  if (hex.length > 0 && kHexDigits[algorithm] === hex.length) return { algorithm, hex };
  throw malformed(`expected ${what} to be a digest by sha256 or sha512, got ${shown}`);
}

class Digest {
  readonly #hash: Hash;
  readonly #expected: string;
  readonly #what: string;

  constructor(expected: string, what: string) {
    const { algorithm } = parseDigest(expected, what);
    this.#hash = createHash(algorithm);
    this.#expected = expected;
    this.#what = what;
  }

  add(bytes: Buffer): void {
    this.#hash.update(bytes);
  }

  /** @throws ImageError if the bytes were others. */
  expectSame(): void {
    const found = `${this.#expected.split(":")[0]}:${this.#hash.digest("hex")}`;
    if (found === this.#expected) return;
    throw malformed(
      `${this.#what} is not what it should be: ${found} instead of ${this.#expected}`,
    );
  }
}

/** The bytes of a part. @throws ImageError if there are fewer, or others than its digest says. */
function* partBytes(part: FilePart, what: string): Generator<Buffer> {
  const digest = part.digest === undefined ? undefined : new Digest(part.digest, what);
  const descriptor = openRegular(part.file);
  try {
    for (let done = 0; done < part.size; ) {
      const piece = Buffer.allocUnsafe(Math.min(kReadBytes, part.size - done));
      const count = readSync(descriptor, piece, 0, piece.length, part.start + done);
      if (count === 0) throw malformed(`${what} is shorter than ${part.size} bytes`);
      done += count;
      const read = piece.subarray(0, count);
      digest?.add(read);
      yield read;
    }
    digest?.expectSame();
  } finally {
    closeSync(descriptor);
  }
}

/** Returns all bytes of a small part. @throws ImageError like {@link layerBytes}, also if it is larger than `most` bytes. */
export function readPart(part: FilePart, most: number, what: string): Buffer {
  if (part.size > most) throw malformed(`${what} is larger than ${most} bytes`);
  return Buffer.concat([...partBytes(part, what)]);
}

/** Formats by their first bytes, of which the names in manifests are not always right. */
const kFormats: readonly [name: string, magic: string][] = [
  ["gzip", "1f8b"],
  ["zstd", "28b52ffd"],
  ["xz", "fd377a585a00"],
  ["bzip2", "425a68"],
  ["lz4", "04224d18"],
];

type ZstdOfLaterNodes = { createZstdDecompress?: (options: object) => Transform };

function decompressorOf(first: Buffer, what: string): Transform | undefined {
  const hex = first.subarray(0, 6).toString("hex");
  const format = kFormats.find(([, magic]) => hex.startsWith(magic))?.[0];
  if (format === undefined) return undefined;
  if (format === "gzip") return zlib.createGunzip({ chunkSize: kReadBytes });
  const makeZstd = (zlib as ZstdOfLaterNodes).createZstdDecompress;
  if (format === "zstd" && makeZstd !== undefined) return makeZstd({ chunkSize: kReadBytes });
  const code = "ERR_IMAGE_UNSUPPORTED";
  const again =
    "compress its layers by gzip: `skopeo copy --dest-compress-format gzip --dest-force-compress-format`";
  if (format === "zstd") {
    const message = `${what} is compressed by zstd, which Node.js ${process.version} can't read`;
    throw new ImageError(message, { code, fix: `use Node.js 22.15 or newer, or ${again}` });
  }
  throw new ImageError(`${what} is compressed by ${format}`, { code, fix: again });
}

/** How many bytes of archives may still come, over all layers. */
export class Allowance {
  readonly #limits: ImageLimits;
  #bytes = 0;

  constructor(limits: ImageLimits) {
    this.#limits = limits;
  }

  /** @throws ImageError ERR_IMAGE_TOO_LARGE */
  take(bytes: number): void {
    this.#bytes += bytes;
    const { maxBytes } = this.#limits;
    if (this.#bytes > maxBytes) throw tooLarge("maxBytes", `${maxBytes} bytes`);
  }
}

/** Creates the error of an image that is larger than it may be. */
export function tooLarge(limit: keyof ImageLimits, most: string): ImageError {
  const message = `the image has more than ${most} (\`${limit}\`)`;
  const fix = `if you trust the image, raise \`${limit}\``;
  return new ImageError(message, { code: "ERR_IMAGE_TOO_LARGE", fix });
}

/**
 * The bytes of a layer, uncompressed. Whoever takes all of them knows that the layer is the one that the image means.
 * @param diffId the digest of the uncompressed bytes; undefined: unknown.
 * @throws ImageError: ERR_IMAGE_INVALID for other bytes than the digests say, ERR_IMAGE_UNSUPPORTED,
 *   ERR_IMAGE_TOO_LARGE.
 */
export async function* layerBytes(
  part: FilePart,
  what: string,
  allowance: Allowance,
  diffId?: string,
): AsyncGenerator<Buffer> {
  const digest = diffId === undefined ? undefined : new Digest(diffId, `${what}, uncompressed,`);
  for await (const chunk of uncompressed(part, what)) {
    allowance.take(chunk.length);
    digest?.add(chunk);
    yield chunk;
  }
  digest?.expectSame();
}

async function* uncompressed(part: FilePart, what: string): AsyncGenerator<Buffer> {
  const pieces = partBytes(part, what);
  const { done, value: first } = pieces.next();
  if (done || first === undefined) return;
  let isRead = false;
  const all = (function* () {
    yield first;
    yield* pieces;
    isRead = true;
  })();
  const decompressor = decompressorOf(first, what);
  if (decompressor === undefined) {
    yield* all;
    return;
  }
  pipeline(Readable.from(all, { objectMode: false }), decompressor, () => {});
  try {
    yield* decompressor as AsyncIterable<Buffer>;
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (/^Z_|^ZSTD_/.test(code ?? "")) throw malformed(`${what} can't be decompressed: ${message}`);
    throw error;
  }
  // What follows the compressed bytes is not decompressed, and would not have been checked.
  if (!isRead) throw malformed(`${what} goes on after its compressed bytes`);
}
