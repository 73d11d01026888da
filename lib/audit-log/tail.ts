/** The end of an existing log: its last record, and a torn line left by a process that died while writing. */

import { createHash } from "node:crypto";
import { closeSync, fstatSync, ftruncateSync, openSync, readSync } from "node:fs";

import type { AuditEvents } from "../../types/audit-log.js";
import { type Link, linkOf } from "./chain.js";
import { AuditLogError, logFiles } from "./files.js";

const kLineFeed = 10;
const kBlockBytes = 64 * 1024;
/** Longer than any record. */
const kMostLineBytes = 64 * 1024 * 1024;
const kMostTextBytes = 16 * 1024;
const kBegin = Buffer.from('{"v":1,"seq":');

const damaged = (what: string) => new AuditLogError(what, "ERR_AUDIT_LOG_DAMAGED");

/** Returns the file's bytes from `from` to its end. */
function readFrom(descriptor: number, from: number, size: number): Buffer {
  const bytes = Buffer.alloc(size - from);
  let got = 0;
  while (got < bytes.length) {
    const count = readSync(descriptor, bytes, got, bytes.length - got, from + got);
    if (count === 0) return bytes.subarray(0, got);
    got += count;
  }
  return bytes;
}

/** Returns the last complete line with the bytes after it, and the offset of the returned bytes. */
function readEnd(descriptor: number, size: number): { bytes: Buffer; from: number } {
  for (let want = kBlockBytes; ; want *= 4) {
    const from = Math.max(0, size - want);
    const bytes = readFrom(descriptor, from, size);
    const last = bytes.lastIndexOf(kLineFeed);
    const before = last > 0 ? bytes.lastIndexOf(kLineFeed, last - 1) : -1;
    if (from === 0 || before >= 0) return { bytes, from };
    if (want > kMostLineBytes) {
      throw damaged("its last line has no end");
    }
  }
}

/** Returns the last of several lines; the line feed at the end is already removed. */
function linkIn(lines: Buffer): Link {
  const link = linkOf(lines.subarray(lines.lastIndexOf(kLineFeed) + 1));
  if (link?.isWhole) return link;
  throw damaged("its last line is no record, or was changed since");
}

/** True if the bytes may be the beginning of a first record. */
const isBegin = (torn: Buffer) =>
  kBegin.subarray(0, torn.length).equals(torn.subarray(0, kBegin.length));

function recoveredOf(torn: Buffer): AuditEvents["recovered"] {
  return {
    bytes: torn.length,
    sha256: createHash("sha256").update(torn).digest("hex"),
    text: torn.subarray(0, kMostTextBytes).toString("base64"),
  };
}

/** The last record, if any, and the torn line after it, if any. */
export type Tail = {
  last: Link | undefined;
  torn: AuditEvents["recovered"] | undefined;
  size: number;
};

/**
 * Reads the end of a file. `torn` is a last line without its end, which the writer did not finish; `size` excludes it.
 * @throws AuditLogError ERR_AUDIT_LOG_DAMAGED if the last complete line is no record or was changed, or if the file is
 * no log
 */
export function readTail(descriptor: number): Tail {
  const { size } = fstatSync(descriptor);
  if (size === 0) return { last: undefined, torn: undefined, size };
  const { bytes, from } = readEnd(descriptor, size);
  const end = bytes.lastIndexOf(kLineFeed);
  const torn = bytes.subarray(end + 1);
  const last = end < 0 ? undefined : linkIn(bytes.subarray(0, end));
  if (last === undefined && !isBegin(torn)) throw damaged("it is another file than a log");
  if (torn.length === 0) return { last, torn: undefined, size };
  return { last, torn: recoveredOf(torn), size: from + end + 1 };
}

/** Reads the tail as {@link readTail}, and cuts off a torn line. */
export function recoverTail(descriptor: number): Tail {
  const tail = readTail(descriptor);
  if (tail.torn !== undefined) ftruncateSync(descriptor, tail.size);
  return tail;
}

/**
 * Returns the last record of a log, reading only its end; undefined if it has no record.
 * @throws AuditLogError ERR_AUDIT_LOG_MISSING if the log does not exist, ERR_AUDIT_LOG_DAMAGED if its last line is no
 * record
 */
export function lastLink(path: string): Link | undefined {
  for (const file of logFiles(path).reverse()) {
    const descriptor = openSync(file, "r");
    try {
      const { last } = readTail(descriptor);
      if (last !== undefined) return last;
    } finally {
      closeSync(descriptor);
    }
  }
  return undefined;
}
