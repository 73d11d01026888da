/** A native project runner, with the flags that work where this process is. */

import { existsSync } from "node:fs";
import { posix } from "node:path";
import type { ProjectRunnerOptions } from "../../types/addon.js";
import type { TransactionHandle } from "../../types/addon-transaction.js";
import type { BubblewrapNetwork } from "../../types/public.js";
import type { Transaction } from "../../types/transaction.js";
import type { TransactionOptions } from "../../types/transaction-options.js";
import type { AuditSink } from "../audit-log/sink.js";
import { SandboxError } from "../errors.js";
import { Supervised } from "../runners/supervised.js";
import { membershipOf } from "../runners/transactions/membership.js";
import { Transactions } from "../runners/transactions/transactions.js";
import { isNested, kMountProc, nestedFix } from "./nesting.js";

/** The flags that depend on where this process is. */
type Flags = { hostProc: boolean; disableUserns: boolean };

/** What can be had here, or why nothing can and what to do. */
type Nesting =
  | { possible: true; flags: Flags }
  | { possible: false; reason: string; fix?: string | undefined };

/** @throws TypeError on a wrong option (where the native addon is present). */
export function projectRunner(
  options: ProjectRunnerOptions,
  transaction?: TransactionHandle,
): Supervised {
  return new Supervised((addon) => new addon.ProjectRunner(options, transaction));
}

const kBest: Flags = { hostProc: false, disableUserns: true };

/**
 * What an outer sandbox may leave us with, the best first. An outer one with a read-only /proc/sys
 * lets bwrap forbid no user namespaces (our seccomp filter still does); one that covers parts of
 * /proc lets nobody mount another.
 */
const kNested: readonly Flags[] = [
  { hostProc: false, disableUserns: false },
  { hostProc: true, disableUserns: true },
  { hostProc: true, disableUserns: false },
];

type Failure = { reason: string; fix?: string | undefined };

/** Runs nothing in a sandbox with these flags; undefined when that works. */
async function tryFlags(options: ProjectRunnerOptions, flags: Flags): Promise<Failure | undefined> {
  const plain = { ...options, ...flags, secrets: [], readOnly: [] };
  const { outcome, exitCode } = await projectRunner(plain).exec({ argv: ["/bin/sh", "-c", ":"] });
  if (outcome.kind === "setup-failed") return outcome;
  if (outcome.kind === "exited" && exitCode === 0) return undefined;
  return { reason: `a test command did not run to its end (${outcome.kind}, ${exitCode})` };
}

async function findNesting(options: ProjectRunnerOptions): Promise<Nesting> {
  if (!existsSync("/proc/self/fd")) {
    return { possible: false, reason: "there is no /proc here", fix: kMountProc };
  }
  const failed = await tryFlags(options, kBest);
  if (failed === undefined) return { possible: true, flags: kBest };
  for (const flags of isNested() ? kNested : []) {
    if ((await tryFlags(options, flags)) === undefined) return { possible: true, flags };
  }
  const { reason } = failed;
  return { possible: false, reason, fix: nestedFix(reason) ?? failed.fix };
}

/** What was found out for a bwrap, once for each Node environment: this process does not move. */
const known = new Map<string, Promise<Nesting>>();

/**
 * What this place allows, by trying it in the options' folders; a refusal is found out anew.
 * @throws (rejects) SandboxError where bwrap or the addon is missing.
 */
export async function nestingFor(options: ProjectRunnerOptions): Promise<Nesting> {
  const key = JSON.stringify([options.bwrapPath, options.network]);
  const answer = known.get(key) ?? findNesting(options);
  known.set(key, answer);
  const found = await answer.catch((error: unknown) => {
    known.delete(key);
    throw error;
  });
  if (!found.possible) known.delete(key);
  return found;
}

/** The runner for these options that works here. @throws (rejects) SandboxError where none does. */
export async function workingRunner(
  options: ProjectRunnerOptions,
  transaction?: TransactionHandle,
): Promise<Supervised> {
  const nesting = await nestingFor(options);
  if (nesting.possible) return projectRunner({ ...options, ...nesting.flags }, transaction);
  const { reason, fix } = nesting;
  throw new SandboxError(reason, { code: "ERR_SANDBOX_SETUP", fix });
}

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
