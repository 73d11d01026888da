/** The records of what is done with a transaction: made, counted, published. */

import type { Change, CommittedPath, TransactionAudit } from "../../../types/transaction.js";
import type { RunMeter } from "../../metrics/run-meter.js";
import type { TransactionCounts } from "../../metrics/transaction-metrics.js";
import { TransactionError } from "./transaction-error.js";

const kMostCommitted = 10_000;
const kMostPaths = 100;

type Written = { paths: number; bytes: number };

const kOutcomes: Partial<Record<TransactionError["code"], TransactionAudit["outcome"]>> = {
  ERR_TRANSACTION_CONFLICT: "conflict",
  ERR_TRANSACTION_PROTECTED: "protected",
  ERR_TRANSACTION_UNEXPECTED: "unexpected",
};

function outcomeOf(error: unknown): TransactionAudit["outcome"] {
  if (!(error instanceof TransactionError)) return "failed";
  return kOutcomes[error.code] ?? "failed";
}

const sizeOf = ({ kind, type, size }: Change) => (kind !== "deleted" && type === "file" ? size : 0);

/** What a commit has written, as far as a record has it. */
function committedPaths(committed: readonly Change[], digests: readonly string[]): CommittedPath[] {
  return committed.slice(0, kMostCommitted).map(({ path, kind, type, from, size }, at) => {
    const sha256 = digests[at];
    return {
      path,
      kind,
      type,
      ...(from !== undefined && { from }),
      size,
      ...(sha256 && { sha256 }),
    };
  });
}

/** Of one transaction. */
export class TransactionRecords {
  readonly #id: string;
  readonly #meter: RunMeter;
  readonly #counts: readonly TransactionCounts[];

  /** @param counts the transaction's own, and its runner's. */
  constructor(id: string, meter: RunMeter, counts: readonly TransactionCounts[]) {
    this.#id = id;
    this.#meter = meter;
    this.#counts = counts;
  }

  opened(): void {
    for (const each of this.#counts) each.opened();
  }

  closed(): void {
    for (const each of this.#counts) each.closed();
  }

  /**
   * Does `work`, and settles as it does, once there is a record of it; `work` adds to that what is
   * special about it. Misuse, a TypeError, has none.
   */
  async of<Value>(
    action: TransactionAudit["action"],
    work: (
      audit: TransactionAudit,
      commit: (committed: readonly Change[], digests: readonly string[]) => void,
    ) => Promise<Value>,
  ): Promise<Value> {
    const beginMs = performance.now();
    const written: Written = { paths: 0, bytes: 0 };
    const audit: TransactionAudit = {
      kind: "native.transaction",
      transaction: this.#id,
      action,
      at: "",
      durationMs: 0,
      outcome: "done",
    };
    const settle = () => {
      audit.at = new Date().toISOString();
      audit.durationMs = performance.now() - beginMs;
      for (const each of this.#counts) each.settled(audit, written);
      this.#meter.transactionSettled(audit);
    };
    const commit = (committed: readonly Change[], digests: readonly string[]) => {
      written.paths = committed.length;
      for (const change of committed) written.bytes += sizeOf(change);
      audit.committed = committedPaths(committed, digests);
      audit.omitted = written.paths - audit.committed.length;
    };
    try {
      const value = await work(audit, commit);
      settle();
      return value;
    } catch (error) {
      if (error instanceof TypeError) throw error;
      audit.outcome = outcomeOf(error);
      if (audit.outcome !== "failed" && error instanceof TransactionError) {
        audit.paths = error.paths.slice(0, kMostPaths);
      }
      settle();
      throw error;
    }
  }
}
