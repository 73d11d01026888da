import {
  closeSync,
  constants,
  existsSync,
  fstatSync,
  ftruncateSync,
  openSync,
  readdirSync,
  readFileSync,
  writeSync,
} from "node:fs";
import { basename, dirname } from "node:path";

import { loadAddon } from "../native.js";

/** Why there is no audit log, or none can be written. */
export type AuditLogErrorCode =
  /** Another process, or another `AuditLog`, writes it. */
  | "ERR_AUDIT_LOG_LOCKED"
  /** What is in the file is no log, or its end is not as it was written. */
  | "ERR_AUDIT_LOG_DAMAGED"
  /** The file can't be opened or written. */
  | "ERR_AUDIT_LOG_UNWRITABLE"
  /** There is none, where one is to be read. */
  | "ERR_AUDIT_LOG_MISSING"
  /** It was closed. */
  | "ERR_AUDIT_LOG_CLOSED";

/** An audit log that can't be had; `code` is stable. */
export class AuditLogError extends Error {
  /** Why, for programs; see {@link AuditLogErrorCode}. */
  readonly code: AuditLogErrorCode;

  constructor(message: string, code: AuditLogErrorCode, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.name = "AuditLogError";
    this.code = code;
  }
}

/** How the files of a log are opened. */

const { O_APPEND, O_CREAT, O_NOFOLLOW, O_NONBLOCK, O_RDWR } = constants;
const kOpen = O_RDWR | O_APPEND | O_CREAT | O_NOFOLLOW | O_NONBLOCK; // a FIFO would wait for a reader
const kMode = 0o600;

/** What was thrown, in words. */
export const messageOf = (error: unknown): string =>
  error instanceof Error ? error.message : String(error);

/**
 * Opens a regular file to append to it, or makes it for this user alone.
 * @param flags further ones of open(2).
 * @throws AuditLogError ERR_AUDIT_LOG_UNWRITABLE for what can't be opened, a link, and what is no file.
 */
export function openLogFile(path: string, flags = 0): number {
  let descriptor: number;
  try {
    descriptor = openSync(path, kOpen | flags, kMode);
  } catch (cause) {
    const message = `the audit log ${path} can't be opened: ${messageOf(cause)}`;
    throw new AuditLogError(message, "ERR_AUDIT_LOG_UNWRITABLE", cause);
  }
  if (fstatSync(descriptor).isFile()) return descriptor;
  closeSync(descriptor);
  const message = `the audit log ${path} is no regular file`;
  throw new AuditLogError(message, "ERR_AUDIT_LOG_UNWRITABLE");
}

/** The files that a log has put aside: PATH.1 is the first, the one with the greatest number the last. */

/** Their numbers, the first first. */
function rotatedNumbers(path: string): number[] {
  const begin = `${basename(path)}.`;
  return readdirSync(dirname(path))
    .filter((name) => name.startsWith(begin))
    .map((name) => name.slice(begin.length))
    .filter((rest) => /^[1-9]\d{0,8}$/.test(rest))
    .map(Number)
    .sort((one, other) => one - other);
}

/** The name, without its directory, of the file that was put aside last; undefined: there is none. */
export function lastRotated(path: string): string | undefined {
  const number = rotatedNumbers(path).at(-1);
  return number === undefined ? undefined : `${basename(path)}.${number}`;
}

/** The name of the next one. */
export function nextRotated(path: string): string {
  return `${basename(path)}.${(rotatedNumbers(path).at(-1) ?? 0) + 1}`;
}

/** The files of a log. */

/**
 * Those that were put aside, the oldest first, and the one that is written.
 * @throws AuditLogError ERR_AUDIT_LOG_MISSING where there is none.
 */
export function logFiles(path: string): string[] {
  const failure = new AuditLogError(`there is no audit log ${path}`, "ERR_AUDIT_LOG_MISSING");
  let rotated: string[];
  try {
    rotated = rotatedNumbers(path).map((number) => `${path}.${number}`);
  } catch {
    throw failure;
  }
  const files = existsSync(path) ? [...rotated, path] : rotated;
  if (files.length === 0) throw failure;
  return files;
}

/** Who may write a log: whoever has its lock file locked. */

/**
 * Locks `PATH.lock`, which stays there; the log itself can't be locked, since rotation puts another
 * file in its place.
 * @returns the descriptor, which is the lock for as long as it is open.
 * @throws AuditLogError ERR_AUDIT_LOG_LOCKED where another process has it, or another log of this one.
 */
export function lockLog(path: string): number {
  const lockPath = `${path}.lock`;
  const descriptor = openLogFile(lockPath);
  try {
    if (loadAddon().lockFile(descriptor)) {
      ftruncateSync(descriptor, 0);
      writeSync(descriptor, `${process.pid}\n`);
      return descriptor;
    }
    const holder = readFileSync(lockPath, "latin1").trim();
    const who = /^\d{1,10}$/.test(holder) ? `process ${holder}` : "another process";
    throw new AuditLogError(
      `the audit log ${path} is being written by ${who}`,
      "ERR_AUDIT_LOG_LOCKED",
    );
  } catch (error) {
    closeSync(descriptor);
    throw error;
  }
}
