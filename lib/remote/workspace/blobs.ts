/** Contents of files: which of them the other side lacks is sent as indexes of entries. */

import { createHash, type Hash } from "node:crypto";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { constants, createBrotliCompress, createBrotliDecompress } from "node:zlib";

import { type Beneath, chunksOf } from "./content/beneath.js";
import type { Entry, FileEntry } from "./content/entry.js";
import { badMessage, type Exchange, kMostBody, WorkspaceError } from "./exchange.js";

/** Returns the first file of each distinct content, without those for which `has` returns true. */
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

/** Asks for the contents of some of the other side's entries, in their order; `all`: of all entries. */
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
 * Receives the other side's request for contents of our entries.
 * @throws (rejects) WorkspaceError ERR_WORKSPACE_MESSAGE for an index that is out of order or names no file
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

/** Below this many bytes compression costs more time than it saves on a current network. */
const kCompressFrom = 1024 * 1024;
/** Several times as fast as zlib at its fastest level, and compresses as well. */
const kParameters = { [constants.BROTLI_PARAM_QUALITY]: 1 };

/** Yields the bytes of a file, and throws at the end if they do not match the entry. */
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

/** Yields the contents of files in as few chunks as possible. */
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
  fed.catch(() => {}); // awaited below
  try {
    await exchange.sendStream({ t: "blobs", encoding: "brotli" }, compressor);
  } finally {
    compressor.destroy();
  }
  await fed;
}

/**
 * Sends the contents of files as one stream, compressed if it is large.
 * @throws (rejects) WorkspaceError ERR_WORKSPACE_CHANGING if a file does not match its entry; the caller reports it to
 * the other side
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

/** Receives contents, one after the other. An error that it throws ends the transfer. */
export type BlobSink = {
  /** Called when a content begins. */
  begin(file: FileEntry): void | Promise<void>;
  /** Called with more of it; the bytes are valid during the call only. */
  write(bytes: Uint8Array): void | Promise<void>;
  /** Called when a content is complete and matches its entry. */
  end(file: FileEntry): void | Promise<void>;
};

/** Splits a stream into the requested contents, and checks each. */
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

  /** Ends the stream; empty files at the end are completed here. */
  async end(): Promise<void> {
    if (this.#left > 0) throw badMessage("less than it was asked for");
    while (this.#at + 1 < this.#files.length) {
      await this.#begin();
      if (this.#left > 0) throw badMessage("less than it was asked for");
      await this.#finish();
    }
  }

  /** Begins the next file that has bytes. */
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
      throw badMessage(`other content than it has told of: ${JSON.stringify(file?.path)}`);
    }
    await this.#sink.end(file);
  }
}

/**
 * Receives the requested contents in their order. The bytes accepted are bounded by the sizes of the entries, however
 * well the stream is compressed.
 * @throws (rejects) WorkspaceError ERR_WORKSPACE_MESSAGE for wrong content, ERR_WORKSPACE_CUT
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
  /** The sink's own error: Node reports an abort of the stream that it destroys instead. */
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
