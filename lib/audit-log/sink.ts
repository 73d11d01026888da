/** What runners tell their log; what is theirs alone is kept from the class that users see. */

import type { AuditEvents, AuditKind, AuditLogTarget } from "../../types/audit-log.js";
import { invalidType } from "../errors.js";

/** Takes records; never throws, and never waits. */
export type AuditSink = {
  add<Kind extends AuditKind>(kind: Kind, event: AuditEvents[Kind]): void;
};

const sinks = new WeakMap<object, AuditSink>();

/** Makes a log known as one of ours. */
export function enrolLog(log: AuditLogTarget, sink: AuditSink): void {
  sinks.set(log, sink);
}

/**
 * What records for a log; undefined for none.
 * @throws TypeError for what is no log of this package.
 */
export function expectAuditLog(auditLog: unknown): AuditSink | undefined {
  if (auditLog === undefined) return undefined;
  const isObject = typeof auditLog === "object" && auditLog !== null;
  const sink = isObject ? sinks.get(auditLog) : undefined;
  if (sink === undefined) throw invalidType("auditLog", "an AuditLog", auditLog);
  return sink;
}

/**
 * The log of a runner's options, which is taken out of them: the addon needs none.
 * @param own the runner's own copy of its options.
 * @throws TypeError as {@link expectAuditLog}.
 */
export function takeAuditLog(own: { auditLog?: unknown }): AuditSink | undefined {
  const sink = expectAuditLog(own.auditLog);
  delete own.auditLog;
  return sink;
}
