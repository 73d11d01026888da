/** How the files of a log are opened. */

import { closeSync, constants, fstatSync, openSync } from "node:fs";

import { AuditLogError } from "./audit-log-error.js";

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
