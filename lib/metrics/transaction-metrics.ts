import type { TransactionMetrics } from "../../types/metrics.js";
import type { TransactionAudit } from "../../types/transaction.js";

const kDone = {
  commit: "commits",
  undo: "undos",
  checkpoint: "checkpoints",
  rollback: "rollbacks",
  discard: "discards",
} as const satisfies Record<TransactionAudit["action"], keyof TransactionMetrics>;

/** Adds up what became of transactions. */
export class TransactionCounts {
  readonly #counts: TransactionMetrics = {
    open: 0,
    opened: 0,
    commits: 0,
    undos: 0,
    checkpoints: 0,
    rollbacks: 0,
    discards: 0,
    conflicts: 0,
    protected: 0,
    unexpected: 0,
    failed: 0,
    paths: 0,
    bytes: 0,
  };

  /** One was opened, or resumed; `closed` follows. */
  opened(): void {
    this.#counts.open += 1;
    this.#counts.opened += 1;
  }

  closed(): void {
    this.#counts.open -= 1;
  }

  /** `written`: what a commit has written. */
  settled({ action, outcome }: TransactionAudit, written: { paths: number; bytes: number }): void {
    const counts = this.#counts;
    if (outcome === "done") counts[kDone[action]] += 1;
    else counts[outcome === "conflict" ? "conflicts" : outcome] += 1;
    counts.paths += written.paths;
    counts.bytes += written.bytes;
  }

  /** All of it until now, a copy. */
  snapshot(): TransactionMetrics {
    return { ...this.#counts };
  }
}
