import { posix } from "node:path";

import type { ProjectRunnerOptions } from "../../types/addon.js";
import type { BubblewrapNetwork } from "../../types/public.js";
import type { Transaction } from "../../types/transaction.js";
import type { TransactionOptions } from "../../types/transaction-options.js";
import type { AuditSink } from "../audit-log/sink.js";
import { SandboxError } from "../errors.js";
import type { Supervised } from "../runners/supervised.js";
import { membershipOf } from "../runners/transactions/membership.js";
import { Transactions } from "../runners/transactions/transactions.js";
import { workingRunner } from "./project-runner.js";

/** As the commit knows paths: without "." and a slash at the end. */
function plainName(path: string): string {
  const plain = posix.normalize(path);
  return plain.endsWith("/") ? plain.slice(0, -1) : plain;
}

/** The transaction that a project's commands work in: one after the other, each until it is discarded. */
export class ProjectTransaction {
  readonly #native: ProjectRunnerOptions;
  readonly #options: TransactionOptions;
  readonly #sink: AuditSink | undefined;
  readonly #transactions: Transactions;
  #current: Promise<Transaction | undefined> = Promise.resolve(undefined);
  #made: { transaction: Transaction; runner: Promise<Supervised> } | undefined;

  /**
   * @param native of one folder; what it protects is what a commit refuses to change.
   * @param network as it was given.
   * @param sink where all is recorded; undefined: nowhere.
   */
  constructor(
    native: ProjectRunnerOptions,
    network: BubblewrapNetwork,
    options: TransactionOptions,
    sink?: AuditSink,
  ) {
    const { bwrapPath, envPolicy, readOnly, projects } = native;
    const [shadowDir = ""] = projects;
    this.#native = { ...native, readOnly: [] }; // in there, nothing is protected from being changed
    this.#options = options;
    const runner = { shadowDir, bwrapPath, network, envPolicy };
    this.#sink = sink;
    this.#transactions = new Transactions(runner, {
      protectedNames: readOnly.map(plainName),
      sink,
    });
  }

  /** The one that there is; else another one. @throws (rejects) as `openTransaction`. */
  async current(): Promise<Transaction> {
    const next = this.#current.catch(() => undefined).then((last) => this.#after(last));
    this.#current = next;
    return next;
  }

  /** @throws (rejects) as {@link current}, and ERR_SANDBOX_CLOSED for one that was closed. */
  async runner(): Promise<Supervised> {
    const transaction = await this.current();
    if (this.#made?.transaction !== transaction) {
      this.#made = { transaction, runner: this.#makeRunner(transaction) };
    }
    const made = this.#made;
    return made.runner.catch((error: unknown) => {
      if (this.#made === made) this.#made = undefined; // bwrap may be installed by the next time
      throw error;
    });
  }

  async #after(last: Transaction | undefined): Promise<Transaction> {
    const state = last === undefined ? "discarded" : membershipOf(last, "transaction").state();
    if (last !== undefined && state !== "discarded") return last;
    return this.#transactions.open(this.#options);
  }

  async #makeRunner(transaction: Transaction): Promise<Supervised> {
    const { handle, state, ready, join } = membershipOf(transaction, "transaction");
    if (state() !== "open") {
      throw new SandboxError("the transaction was closed", {
        code: "ERR_SANDBOX_CLOSED",
        fix: "make the Bwrap anew, or take the transaction up with `resumeTransaction`",
      });
    }
    const runner = await workingRunner(this.#native, handle);
    runner.meter.recordTo(this.#sink);
    runner.ready = ready;
    join(runner);
    return runner;
  }
}
