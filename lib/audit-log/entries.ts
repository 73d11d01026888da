/** Reads the records of a log. */

import { type FileHandle, open } from "node:fs/promises";

import type { AuditEntry } from "../../types/audit-log.js";
import { linkOf } from "./chain.js";
import { logFiles } from "./files.js";

/**
 * Yields each record of a log, the oldest first. Malformed lines, and lines whose bytes were changed, are skipped: see
 * `verifyAuditLog`.
 * @throws (rejects) as `verifyAuditLog`
 */
export async function* readAuditLog(path: string): AsyncGenerator<AuditEntry> {
  for (const file of logFiles(path)) {
    for await (const { lines, isTorn } of readLines(file)) {
      for (const line of isTorn ? [] : lines) {
        if (linkOf(line)?.isWhole) yield JSON.parse(line.toString()) as AuditEntry;
      }
    }
  }
}

/** Reads the lines of a file in pieces of bounded size. */

const kChunkBytes = 1024 * 1024;
const kLineFeed = 10;
/** Longer than any record. */
const kMostLineBytes = 64 * 1024 * 1024;

/** Consecutive lines without their ends. Valid until the next ones are requested. */
export type Lines = {
  lines: Buffer[];
  /** True if the last line has no end. */
  isTorn: boolean;
};

/** Yields the lines of a file. A line longer than any record is split into pieces. */
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

/** @throws (rejects) Node's fs errors if the file can't be read */
export async function* readLines(path: string): AsyncGenerator<Lines> {
  const file = await open(path, "r");
  try {
    yield* linesOf(file);
  } finally {
    await file.close();
  }
}
