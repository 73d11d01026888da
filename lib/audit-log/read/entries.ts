/** The records of a log, as values. */

import type { AuditEntry } from "../../../types/audit-log.js";
import { linkOf } from "../chain.js";
import { readLines } from "./lines.js";
import { logFiles } from "./log-files.js";

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
