/** The interface between runners and their log, hidden from the public `AuditLog` class. */

import type { AuditEvents, AuditKind, AuditLogTarget } from "../../types/audit-log.js";
import type { SandboxedAuditRecord } from "../../types/public.js";
import type { TransactionAudit } from "../../types/transaction.js";
import { invalidType } from "../errors.js";

/** Takes records; never throws, and never blocks. */
export type AuditSink = {
  add<Kind extends AuditKind>(kind: Kind, event: AuditEvents[Kind]): void;
};

const sinks = new WeakMap<object, AuditSink>();

/** Registers a log of this package. */
export function registerLog(log: AuditLogTarget, sink: AuditSink): void {
  sinks.set(log, sink);
}

/**
 * Returns the sink of a log; undefined if no log is given.
 * @throws TypeError for an object that is no log of this package
 */
export function expectAuditLog(auditLog: unknown): AuditSink | undefined {
  if (auditLog === undefined) return undefined;
  const isObject = typeof auditLog === "object" && auditLog !== null;
  const sink = isObject ? sinks.get(auditLog) : undefined;
  if (sink === undefined) throw invalidType("auditLog", "an AuditLog", auditLog);
  return sink;
}

/**
 * Takes the log out of a runner's options, since the addon does not use it.
 * @param own the runner's own copy of its options
 * @throws TypeError as {@link expectAuditLog}
 */
export function takeAuditLog(own: { auditLog?: unknown }): AuditSink | undefined {
  const sink = expectAuditLog(own.auditLog);
  delete own.auditLog;
  return sink;
}

/** Records of one runner's runs. */

/** Records the runs of a runner and its sessions. */
export class RunRecorder {
  readonly #sink: AuditSink;
  /** Policies already recorded, the most recent one last. */
  readonly #policies = new Set<string>();
  readonly #templates = new Set<string>();

  constructor(sink: AuditSink) {
    this.#sink = sink;
  }

  /** Records a run that has ended, preceded by its policy and template if they are new. */
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

  /** Records an action on a transaction. */
  transaction(audit: TransactionAudit): void {
    this.#sink.add("transaction", audit);
  }

  /** Records that a session was opened. */
  sessionOpened(policyHash: string): void {
    this.#sink.add("session", { policyHash });
  }
}
