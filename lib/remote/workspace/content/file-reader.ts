/** Reads files for hashing and sending, in slices, and sees whether they change meanwhile. */

import { closeSync, readSync } from "node:fs";

import type { Beneath } from "./beneath.js";
import { isRegular, type Stamp, sizeOf, stampOf } from "./stamp.js";

const kBlock = 256 * 1024;
/** Bytes after which whatever else waits for the thread has its turn. */
const kSlice = 8 * 1024 * 1024;

const others = () => new Promise<void>((resolve) => setImmediate(resolve));

/**
 * The bytes of a file, at most `most` of them. A chunk is valid until the next is asked for, unless
 * `fresh` asks for memory of its own for each.
 * @returns what the file was before and after.
 * @throws an Error of `node:fs`; ENXIO for what is no regular file.
 */
export async function* chunksOf(
  tree: Beneath,
  path: string,
  most: number,
  { fresh = false } = {},
): AsyncGenerator<Buffer, { before: Stamp; after: Stamp }, void> {
  const descriptor = tree.open(path);
  try {
    const before = stampOf(descriptor);
    if (!isRegular(before)) {
      throw Object.assign(new Error(`ENXIO: no regular file, '${path}'`), { code: "ENXIO", path });
    }
    const size = Math.min(kBlock, Math.max(1, sizeOf(before)));
    let block = Buffer.allocUnsafe(size);
    let total = 0;
    let slice = 0;
    while (total < most) {
      const count = readSync(descriptor, block, 0, Math.min(block.length, most - total), null);
      if (count === 0) break;
      total += count;
      yield block.subarray(0, count);
      if (fresh) block = Buffer.allocUnsafe(Math.min(kBlock, Math.max(1, most - total)));
      slice += count;
      if (slice < kSlice) continue;
      slice = 0;
      await others();
    }
    return { before, after: stampOf(descriptor) };
  } finally {
    closeSync(descriptor);
  }
}
