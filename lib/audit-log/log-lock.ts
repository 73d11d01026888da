/** Who may write a log: whoever has its lock file locked. */

import { closeSync, ftruncateSync, readFileSync, writeSync } from "node:fs";

import { loadAddon } from "../native.js";
import { AuditLogError } from "./audit-log-error.js";
import { openLogFile } from "./open-log-file.js";

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
