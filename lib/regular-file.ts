/** Files that are read as configuration or as a skill: regular ones, up to a size, and nothing else. */

import { constants } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";

/** Most bytes of a file that is read as configuration. */
export const kMaxConfigBytes = 1024 ** 2;

/** A FIFO without a writer must not be waited for, and a terminal not become ours. */
const kOpenFlags = constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOCTTY;

/** Bytes that are read at a time, so that hashing them does not hold up the host's thread. */
const kPieceBytes = 256 * 1024;

function tooLarge(maxBytes: number): Error {
  return new Error(`it is larger than ${maxBytes} bytes`);
}

/**
 * Opens a file for `use`. What was opened decides, so a file that is replaced meanwhile makes no
 * difference.
 *
 * @throws (rejects) Node's errors of the file system; an Error for what is no regular file (through
 * links), or is larger than `maxBytes`; what `use` throws.
 */
export async function withRegularFile<Value>(
  path: string,
  maxBytes: number,
  use: (file: FileHandle) => Promise<Value>,
): Promise<Value> {
  const file = await open(path, kOpenFlags);
  try {
    const stat = await file.stat();
    if (!stat.isFile()) throw new Error("it is not a regular file");
    if (stat.size > maxBytes) throw tooLarge(maxBytes);
    return await use(file);
  } finally {
    await file.close();
  }
}

/**
 * Hands a file's bytes on, piece by piece; each piece is overwritten by the next. One that grows
 * meanwhile is not read beyond the limit either.
 *
 * @throws (rejects) as {@link withRegularFile}.
 */
export function readPieces(
  path: string,
  maxBytes: number,
  take: (piece: Buffer) => void,
): Promise<void> {
  return withRegularFile(path, maxBytes, (file) => readAll(file, maxBytes, take));
}

async function readAll(
  file: FileHandle,
  maxBytes: number,
  take: (piece: Buffer) => void,
): Promise<void> {
  const piece = Buffer.allocUnsafe(Math.min(kPieceBytes, maxBytes + 1));
  for (let total = 0; ; ) {
    const { bytesRead } = await file.read(piece, 0, piece.length);
    if (bytesRead === 0) return;
    total += bytesRead;
    if (total > maxBytes) throw tooLarge(maxBytes);
    take(piece.subarray(0, bytesRead));
  }
}

/** All of a file's bytes. @throws (rejects) as {@link readPieces}. */
export async function readRegularFile(path: string, maxBytes: number): Promise<Buffer> {
  const pieces: Buffer[] = [];
  await readPieces(path, maxBytes, (piece) => pieces.push(Buffer.from(piece)));
  return Buffer.concat(pieces);
}
