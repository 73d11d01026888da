/** What one runner tells its log of its runs. */

import type { SandboxedAuditRecord } from "../../types/public.js";
import type { TransactionAudit } from "../../types/transaction.js";
import type { AuditSink } from "./sink.js";

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
