/** Which contents the other side has not got: told by the indexes of entries that have them. */

import { createHash, type Hash } from "node:crypto";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { constants, createBrotliCompress, createBrotliDecompress } from "node:zlib";

import { type Beneath, chunksOf } from "./content/beneath.js";
import type { Entry, FileEntry } from "./content/entry.js";
import { badMessage, type Exchange, kMostBody, WorkspaceError } from "./exchange.js";

/** Of each content the first file that has it, without those for which `has` is true. */
export function distinctFiles(
  entries: readonly Entry[],
  has: (sha256: string) => boolean = () => false,
): FileEntry[] {
  const found = new Set<string>();
  const files: FileEntry[] = [];
  for (const entry of entries) {
    if (entry.type !== "file" || found.has(entry.sha256) || has(entry.sha256)) continue;
    found.add(entry.sha256);
    files.push(entry);
  }
  return files;
}

/** Asks for the contents of some of the other side's entries, in their order; `all`: of all. */
export async function askFor(
  exchange: Exchange,
  entries: readonly Entry[],
  files: readonly FileEntry[],
  all: boolean,
): Promise<void> {
  const wanted = new Set(files);
  const indexes: number[] = [];
  if (!all) {
    entries.forEach((entry, at) => {
      if (entry.type === "file" && wanted.has(entry)) indexes.push(at);
    });
  }
  const bytes = Buffer.allocUnsafe(4 * indexes.length);
  indexes.forEach((index, at) => {
    bytes.writeUInt32LE(index, 4 * at);
  });
  await exchange.sendStream({ t: "missing", all }, [bytes]);
}

/**
 * What the other side asks for of our entries.
 * @throws (rejects) WorkspaceError ERR_WORKSPACE_MESSAGE for an index of no file, or out of order.
 */
export async function asked(exchange: Exchange, entries: readonly Entry[]): Promise<FileEntry[]> {
  const { header } = await exchange.receive("missing");
  const bytes = await exchange.bytes(4 * entries.length);
  if (header.all) return distinctFiles(entries);
  const files: FileEntry[] = [];
  let before = -1;
  for (let at = 0; at + 4 <= bytes.length; at += 4) {
    const index = bytes.readUInt32LE(at);
    const entry = entries[index];
    if (index <= before || entry?.type !== "file") throw badMessage("an index of no file");
    before = index;
    files.push(entry);
  }
  return files;
}

/** Below it, a compressor costs more time than it saves on a network of this century. */
const kCompressFrom = 1024 * 1024;
/** Several times as fast as zlib at its fastest, and compresses as well. */
const kParameters = { [constants.BROTLI_PARAM_QUALITY]: 1 };

/** The bytes of a file, which are what its entry says, or it throws at the end. */
async function* contentsOf(tree: Beneath, { path, size, sha256 }: FileEntry) {
  const hash = createHash("sha256");
  let total = 0;
  try {
    for await (const chunk of chunksOf(tree, path, size, { fresh: true })) {
      hash.update(chunk);
      total += chunk.length;
      yield chunk;
    }
  } catch (error) {
    throw changed(path, error);
  }
  if (total !== size || hash.digest("hex") !== sha256) throw changed(path);
}

function changed(path: string, cause?: unknown): WorkspaceError {
  const message = `${path} has changed since it was looked at`;
  return new WorkspaceError(message, "ERR_WORKSPACE_CHANGING", cause);
}

/** Small files together, in as few chunks as can be. */
async function* gathered(files: readonly FileEntry[], tree: Beneath) {
  let waiting: Buffer[] = [];
  let size = 0;
  for (const file of files) {
    for await (const chunk of contentsOf(tree, file)) {
      waiting.push(chunk);
      size += chunk.length;
      if (size < kMostBody) continue;
      yield Buffer.concat(waiting, size);
      waiting = [];
      size = 0;
    }
  }
  if (size > 0) yield Buffer.concat(waiting, size);
}

async function sendCompressed(exchange: Exchange, chunks: AsyncIterable<Buffer>): Promise<void> {
  const compressor = createBrotliCompress({ params: kParameters, chunkSize: kMostBody });
  const fed = pipeline(Readable.from(chunks, { objectMode: true }), compressor);
  fed.catch(() => {}); // reported below
  try {
    await exchange.sendStream({ t: "blobs", encoding: "brotli" }, compressor);
  } finally {
    compressor.destroy();
  }
  await fed;
}

/**
 * Sends the contents of files as one stream, compressed where there is much of it.
 * @throws (rejects) WorkspaceError ERR_WORKSPACE_CHANGING where one is not what its entry says: the other
 * side has to be told.
 */
export async function sendBlobs(
  exchange: Exchange,
  tree: Beneath,
  files: readonly FileEntry[],
): Promise<void> {
  const chunks = gathered(files, tree);
  const bytes = files.reduce((sum, { size }) => sum + size, 0);
  if (bytes >= kCompressFrom) await sendCompressed(exchange, chunks);
  else await exchange.sendStream({ t: "blobs", encoding: "identity" }, chunks);
}

/** Where contents go, one after the other. What throws ends all. */
export type BlobSink = {
  /** A content begins. */
  begin(file: FileEntry): void | Promise<void>;
  /** More of it; the bytes are valid during the call. */
  write(bytes: Uint8Array): void | Promise<void>;
  /** All of it has come, and is what its entry says. */
  end(file: FileEntry): void | Promise<void>;
};

/** Cuts a stream into the contents that were asked for, and checks each. */
class Splitter {
  readonly #files: readonly FileEntry[];
  readonly #sink: BlobSink;
  #at = -1;
  #left = 0;
  #hash: Hash | undefined;

  constructor(files: readonly FileEntry[], sink: BlobSink) {
    this.#files = files;
    this.#sink = sink;
  }

  async write(bytes: Uint8Array): Promise<void> {
    let rest = bytes;
    while (rest.byteLength > 0) {
      if (this.#left === 0) await this.#next();
      const part = rest.subarray(0, this.#left);
      this.#hash?.update(part);
      await this.#sink.write(part);
      this.#left -= part.byteLength;
      rest = rest.subarray(part.byteLength);
      if (this.#left === 0) await this.#finish();
    }
  }

  /** Files without bytes at the end have still to come to their end. */
  async end(): Promise<void> {
    if (this.#left > 0) throw badMessage("less than it was asked for");
    while (this.#at + 1 < this.#files.length) {
      await this.#begin();
      if (this.#left > 0) throw badMessage("less than it was asked for");
      await this.#finish();
    }
  }

  /** The next that has bytes. */
  async #next(): Promise<void> {
    for (;;) {
      await this.#begin();
      if (this.#left > 0) return;
      await this.#finish();
    }
  }

  async #begin(): Promise<void> {
    this.#at += 1;
    const file = this.#files[this.#at];
    if (file === undefined) throw badMessage("more than it was asked for");
    this.#left = file.size;
    this.#hash = createHash("sha256");
    await this.#sink.begin(file);
  }

  async #finish(): Promise<void> {
    const file = this.#files[this.#at];
    if (file === undefined || this.#hash?.digest("hex") !== file.sha256) {
      throw badMessage(`other content than it has reported of: ${JSON.stringify(file?.path)}`);
    }
    await this.#sink.end(file);
  }
}

/**
 * Takes the contents that were asked for, in that order. What comes is bounded by their sizes, however
 * well it is compressed.
 * @throws (rejects) WorkspaceError ERR_WORKSPACE_MESSAGE for other content, ERR_WORKSPACE_CUT.
 */
export async function receiveBlobs(
  exchange: Exchange,
  files: readonly FileEntry[],
  sink: BlobSink,
): Promise<void> {
  const { header } = await exchange.receive("blobs");
  const splitter = new Splitter(files, sink);
  if (header.encoding === "identity") {
    for await (const chunk of exchange.stream()) await splitter.write(chunk);
  } else {
    await decompress(exchange, splitter);
  }
  await splitter.end();
}

async function decompress(exchange: Exchange, splitter: Splitter): Promise<void> {
  const decompressor = createBrotliDecompress({ chunkSize: kMostBody });
  /** The sink's own: Node tells of the stream that it destroys for it, as of an abort. */
  let fault: { error: unknown } | undefined;
  await pipeline(
    Readable.from(exchange.stream(), { objectMode: true }),
    decompressor,
    async (chunks) => {
      for await (const chunk of chunks) {
        await splitter.write(chunk as Buffer).catch((error: unknown) => {
          fault = { error };
          throw error;
        });
      }
    },
  ).catch((error: unknown) => {
    if (fault !== undefined) throw fault.error;
    const { code } = error as { code?: unknown };
    const isOfZlib = typeof code === "string" && /^(Z_|ERR__ERROR_|ERR_BROTLI_)/.test(code);
    throw isOfZlib ? badMessage("what can't be decompressed") : error;
  });
}
