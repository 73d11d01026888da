/** `--audit-log`, of the commands that do something which is recorded. */

import type { Command } from "commander";

import { AuditLog } from "../../audit-log/audit-log.js";
import { file } from "../values/option-values.js";

/** As commander hands it over. */
export type AuditOption = {
  /** The file of a log. */
  auditLog?: string;
};

/** Adds it. */
export function withAuditOption(command: Command): Command {
  return command.option(
    "--audit-log <file>",
    "record it in this audit log, which is made where there is none: see `native-runner audit`",
    file,
  );
}

/**
 * Does something with the log that the options name, if any; it is closed when that has settled.
 * @throws (rejects) AuditLogError where it can't be had or written; what `work` throws.
 */
export async function recorded<Value>(
  { auditLog: path }: AuditOption,
  work: (auditLog: AuditLog | undefined) => Promise<Value>,
): Promise<Value> {
  if (path === undefined) return work(undefined);
  await using auditLog = new AuditLog(path);
  return await work(auditLog);
}
