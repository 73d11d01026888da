import { createHash, type Hash } from "node:crypto";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { createBrotliDecompress } from "node:zlib";

import type { FileEntry } from "../content/entry.js";
import { type Exchange, kMostBody } from "../exchange.js";
import { badMessage } from "../workspace-error.js";

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
      throw badMessage(`other content than it has told of: ${JSON.stringify(file?.path)}`);
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
