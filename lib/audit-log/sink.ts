/** What runners tell their log; what is theirs alone is kept from the class that users see. */

import type { AuditEvents, AuditKind, AuditLogTarget } from "../../types/audit-log.js";
import type { SandboxedAuditRecord } from "../../types/public.js";
import type { TransactionAudit } from "../../types/transaction.js";
import { invalidType } from "../errors.js";

/** Takes records; never throws, and never waits. */
export type AuditSink = {
  add<Kind extends AuditKind>(kind: Kind, event: AuditEvents[Kind]): void;
};

const sinks = new WeakMap<object, AuditSink>();

/** Makes a log known as one of ours. */
export function registerLog(log: AuditLogTarget, sink: AuditSink): void {
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

/** What one runner tells its log of its runs. */

/** Belongs to a runner and its sessions. */
export class RunRecorder {
  readonly #sink: AuditSink;
  /** The policies that a run was recorded under, the last of them last. */
  readonly #policies = new Set<string>();
  readonly #templates = new Set<string>();

  constructor(sink: AuditSink) {
    this.#sink = sink;
  }

  /** One run has ended; its policy and its template are told before the first one that has them. */
  ran(audit: SandboxedAuditRecord, exitCode: number): void {
    const { runtime, policyHash, layers } = audit;
    if (!this.#policies.has(policyHash)) {
      const previous = [...this.#policies].at(-1) ?? null;
      this.#policies.add(policyHash);
      this.#sink.add("policy", { runtime, policyHash, previous });
    }
    if (audit.start === "cloned" && !this.#templates.has(policyHash)) {
      this.#templates.add(policyHash);
      this.#sink.add("template", { runtime, policyHash, layers });
    }
    this.#sink.add("run", { ...audit, exitCode });
  }

  /** Something was done with a transaction. */
  transaction(audit: TransactionAudit): void {
    this.#sink.add("transaction", audit);
  }

  /** A session has been opened. */
  sessionOpened(policyHash: string): void {
    this.#sink.add("session", { policyHash });
  }
}
