/** The files of a log. */

import { existsSync } from "node:fs";

import { AuditLogError } from "../audit-log-error.js";
import { rotatedNumbers } from "../rotated.js";

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
