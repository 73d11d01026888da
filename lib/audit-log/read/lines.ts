/** The lines of a file, in pieces that fit the memory. */

import { type FileHandle, open } from "node:fs/promises";

const kChunkBytes = 1024 * 1024;
const kLineFeed = 10;
/** Longer than any record. */
const kMostLineBytes = 64 * 1024 * 1024;

/** Some lines, one after the other, without their ends. Theirs until the next ones are asked for. */
export type Lines = {
  lines: Buffer[];
  /** The last of them has no end. */
  isTorn: boolean;
};

/** One that is longer than any record is told in pieces of that length. */
async function* linesOf(file: FileHandle): AsyncGenerator<Lines> {
  let rest = Buffer.alloc(0);
  for (;;) {
    const chunk = Buffer.allocUnsafe(kChunkBytes);
    const { bytesRead } = await file.read(chunk, 0, kChunkBytes, null);
    if (bytesRead === 0) break;
    const bytes = Buffer.concat([rest, chunk.subarray(0, bytesRead)]);
    const lines: Buffer[] = [];
    let from = 0;
    for (let end = bytes.indexOf(kLineFeed); end >= 0; end = bytes.indexOf(kLineFeed, from)) {
      lines.push(bytes.subarray(from, end));
      from = end + 1;
    }
    rest = bytes.subarray(from);
    if (rest.length > kMostLineBytes) {
      lines.push(rest);
      rest = Buffer.alloc(0);
    }
    yield { lines, isTorn: false };
  }
  if (rest.length > 0) yield { lines: [rest], isTorn: true };
}

/** @throws (rejects) as Node's fs does where it can't be read. */
export async function* readLines(path: string): AsyncGenerator<Lines> {
  const file = await open(path, "r");
  try {
    yield* linesOf(file);
  } finally {
    await file.close();
  }
}
