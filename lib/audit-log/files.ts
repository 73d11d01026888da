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

/** Why an audit log can't be opened, written or read. */
export type AuditLogErrorCode =
  /** Another process, or another `AuditLog`, writes it. */
  | "ERR_AUDIT_LOG_LOCKED"
  /** The file is no log, or its end was changed or damaged. */
  | "ERR_AUDIT_LOG_DAMAGED"
  /** The file can't be opened or written. */
  | "ERR_AUDIT_LOG_UNWRITABLE"
  /** The log to be read does not exist. */
  | "ERR_AUDIT_LOG_MISSING"
  /** The log was closed. */
  | "ERR_AUDIT_LOG_CLOSED";

/** An error of an audit log; `code` is stable. */
export class AuditLogError extends Error {
  /** The reason, for programs; see {@link AuditLogErrorCode}. */
  readonly code: AuditLogErrorCode;

  constructor(message: string, code: AuditLogErrorCode, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.name = "AuditLogError";
    this.code = code;
  }
}

/** Opens the files of a log. */

const { O_APPEND, O_CREAT, O_NOFOLLOW, O_NONBLOCK, O_RDWR } = constants;
const kOpen = O_RDWR | O_APPEND | O_CREAT | O_NOFOLLOW | O_NONBLOCK; // O_NONBLOCK: a FIFO would block
const kMode = 0o600;

/** Returns the message of a thrown value. */
export const messageOf = (error: unknown): string =>
  error instanceof Error ? error.message : String(error);

/**
 * Opens a regular file for appending, or creates it for this user only.
 * @param flags additional flags of open(2)
 * @throws AuditLogError ERR_AUDIT_LOG_UNWRITABLE for a path that can't be opened, a symbolic link, or no regular file
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

/** Rotated files of a log: PATH.1 is the oldest, the one with the highest number the newest. */

/** Returns the numbers of rotated files, the oldest first. */
function rotatedNumbers(path: string): number[] {
  const begin = `${basename(path)}.`;
  return readdirSync(dirname(path))
    .filter((name) => name.startsWith(begin))
    .map((name) => name.slice(begin.length))
    .filter((rest) => /^[1-9]\d{0,8}$/.test(rest))
    .map(Number)
    .sort((one, other) => one - other);
}

/** Returns the name, without its directory, of the newest rotated file; undefined if none exists. */
export function lastRotated(path: string): string | undefined {
  const number = rotatedNumbers(path).at(-1);
  return number === undefined ? undefined : `${basename(path)}.${number}`;
}

/** Returns the name for the next rotated file. */
export function nextRotated(path: string): string {
  return `${basename(path)}.${(rotatedNumbers(path).at(-1) ?? 0) + 1}`;
}

/** The files of a log. */

/**
 * Returns the rotated files, the oldest first, and the current one.
 * @throws AuditLogError ERR_AUDIT_LOG_MISSING if no file exists
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

/** The lock of a log: only the holder may write the log. */

/**
 * Locks `PATH.lock`, which is never removed; the log itself can't be locked, since rotation replaces it.
 * @returns the descriptor; the lock is held while it is open
 * @throws AuditLogError ERR_AUDIT_LOG_LOCKED if another process, or another log of this one, holds the lock
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
