/** The records of a log, as values. */

import { type FileHandle, open } from "node:fs/promises";

import type { AuditEntry } from "../../types/audit-log.js";
import { linkOf } from "./chain.js";
import { logFiles } from "./files.js";

/**
 * Each record of a log, the oldest first; lines that are none, or whose bytes were changed, are left out: see
 * `verifyAuditLog`.
 * @throws (rejects) as `verifyAuditLog`.
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

/** The lines of a file, in pieces that fit the memory. */

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
