import { createHash } from "node:crypto";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { constants, createBrotliCompress } from "node:zlib";

import type { Beneath } from "../content/beneath.js";
import type { FileEntry } from "../content/entry.js";
import { chunksOf } from "../content/file-reader.js";
import { type Exchange, kMostBody } from "../exchange.js";
import { WorkspaceError } from "../workspace-error.js";

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
  fed.catch(() => {}); // told below
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
