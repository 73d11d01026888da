import { closeSync, openSync } from "node:fs";

import type { Link } from "../chain.js";
import { readTail } from "../tail.js";
import { logFiles } from "./log-files.js";

/**
 * The last record of a log, by its end alone; undefined: it has none.
 * @throws AuditLogError ERR_AUDIT_LOG_MISSING where there is none, ERR_AUDIT_LOG_DAMAGED where its last line
 * is no record.
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
