/** Reads files of configuration or skills: only regular files, up to a size limit. */

import { constants } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";

/** Maximum size in bytes of a configuration file. */
export const kMaxConfigBytes = 1024 ** 2;

/** Prevents waiting for a FIFO without a writer, and acquiring a controlling terminal. */
const kOpenFlags = constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOCTTY;

/** Bytes per read, so that hashing does not block the host's thread. */
const kPieceBytes = 256 * 1024;

function tooLarge(maxBytes: number): Error {
  return new Error(`it is larger than ${maxBytes} bytes`);
}

/**
 * Opens a file for `use`. Checks the opened file, so replacing the path meanwhile has no effect.
 *
 * @throws (rejects) Node's file system errors; an Error for a file that is not regular (after following
 * links) or is larger than `maxBytes`; any error of `use`.
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
 * Passes a file's bytes to `use`, piece by piece; each piece is overwritten by the next. A growing file is
 * also not read beyond the limit.
 *
 * @throws (rejects) like {@link withRegularFile}.
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

/** Returns all bytes of a file. @throws (rejects) like {@link readPieces}. */
export async function readRegularFile(path: string, maxBytes: number): Promise<Buffer> {
  const pieces: Buffer[] = [];
  await readPieces(path, maxBytes, (piece) => pieces.push(Buffer.from(piece)));
  return Buffer.concat(pieces);
}
