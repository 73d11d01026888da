/** Creates a native project runner with flags that work in this process's environment. */

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
import { isNested, kMountProc } from "./nesting.js";

/** The flags that depend on this process's environment. */
type Flags = { hostProc: boolean; disableUserns: boolean; home?: string | undefined };

/** Flags that work here, or why none do and how to fix it. */
type Nesting =
  | { possible: true; flags: Flags }
  | { possible: false; reason: string; fix?: string | undefined };

/** @throws TypeError on an invalid option (if the native addon is present). */
export function projectRunner(
  options: ProjectRunnerOptions,
  transaction?: TransactionHandle,
): Supervised {
  return new Supervised((addon) => new addon.ProjectRunner(options, transaction));
}

const kBest: Flags = { hostProc: false, disableUserns: true };

/**
 * Flags that may work inside an outer sandbox, best first. If the outer sandbox has a read-only /proc/sys,
 * bwrap can't forbid user namespaces (our seccomp filter still does); if it covers parts of /proc, no process
 * can mount another.
 */
const kNested: readonly Flags[] = [
  { hostProc: false, disableUserns: false },
  { hostProc: true, disableUserns: true },
  { hostProc: true, disableUserns: false },
];

type Failure = { reason: string; fix?: string | undefined };

/** Runs an empty command in a sandbox with these flags; returns undefined on success. */
async function tryFlags(options: ProjectRunnerOptions, flags: Flags): Promise<Failure | undefined> {
  const plain = { ...options, home: undefined, ...flags, secrets: [], readOnly: [] };
  const { outcome, exitCode } = await projectRunner(plain).exec({ argv: ["/bin/sh", "-c", ":"] });
  if (outcome.kind === "setup-failed") return outcome;
  if (outcome.kind === "exited" && exitCode === 0) return undefined;
  return { reason: `a test command did not run to its end (${outcome.kind}, ${exitCode})` };
}

/**
 * Tries the flags with the home copy-on-write, which needs Linux 6.6, if the options ask for that; then without. A home
 * that fails twice stays read-only: once may be a race.
 */
async function tryWithHome(options: ProjectRunnerOptions, flags: Flags): Promise<Nesting> {
  const { home } = options;
  const [without, writable] = [
    { ...flags, home: undefined },
    { ...flags, home },
  ];
  if (home !== undefined && (await tryFlags(options, writable)) === undefined) {
    return { possible: true, flags: writable };
  }
  const failed = await tryFlags(options, without);
  if (failed !== undefined) return { possible: false, ...failed };
  const isRace = home !== undefined && (await tryFlags(options, writable)) === undefined;
  return { possible: true, flags: isRace ? writable : without };
}

async function findNesting(options: ProjectRunnerOptions): Promise<Nesting> {
  if (!existsSync("/proc/self/fd")) {
    return { possible: false, reason: "there is no /proc here", fix: kMountProc };
  }
  const best = await tryWithHome(options, kBest);
  if (best.possible) return best;
  for (const flags of isNested() ? kNested : []) {
    const found = await tryWithHome(options, flags);
    if (found.possible) return found;
  }
  return best; // why the best flags don't work
}

/** Results per bwrap, once for each Node environment: the environment of this process does not change. */
const known = new Map<string, Promise<Nesting>>();

/**
 * Determines the flags that work here, by trying them in the options' folders; a refusal is not cached.
 * @throws (rejects) SandboxError if bwrap or the addon is missing.
 */
export async function nestingFor(options: ProjectRunnerOptions): Promise<Nesting> {
  const { bwrapPath, network, home } = options;
  const byDomain = typeof network === "object" ? { ...network, termination: undefined } : network;
  const key = JSON.stringify([bwrapPath, byDomain, home]);
  const answer = known.get(key) ?? findNesting(options);
  known.set(key, answer);
  const found = await answer.catch((error: unknown) => {
    known.delete(key);
    throw error;
  });
  if (!found.possible) known.delete(key);
  return found;
}

/** Returns a runner for these options that works here. @throws (rejects) SandboxError if none does. */
export async function workingRunner(
  options: ProjectRunnerOptions,
  transaction?: TransactionHandle,
): Promise<Supervised> {
  const nesting = await nestingFor(options);
  if (nesting.possible) return projectRunner({ ...options, ...nesting.flags }, transaction);
  const { reason, fix } = nesting;
  throw new SandboxError(reason, { code: "ERR_SANDBOX_SETUP", fix });
}

/** Returns the path in the form that commits use: without "." and a trailing slash. */
function plainName(path: string): string {
  const plain = posix.normalize(path);
  return plain.endsWith("/") ? plain.slice(0, -1) : plain;
}

/** The transactions of a project's commands: one at a time, each until it is discarded. */
export class ProjectTransaction {
  readonly #native: ProjectRunnerOptions;
  readonly #options: TransactionOptions;
  readonly #sink: AuditSink | undefined;
  readonly #transactions: Transactions;
  #current: Promise<Transaction | undefined> = Promise.resolve(undefined);
  #made: { transaction: Transaction; runner: Promise<Supervised> } | undefined;

  /**
   * @param native options with one folder; its protected paths are those that a commit refuses to change.
   * @param network as given.
   * @param sink records all runs; undefined: none.
   */
  constructor(
    native: ProjectRunnerOptions,
    network: BubblewrapNetwork,
    options: TransactionOptions,
    sink?: AuditSink,
  ) {
    const { bwrapPath, envPolicy, readOnly, projects } = native;
    const [shadowDir = ""] = projects;
    this.#native = { ...native, readOnly: [] }; // inside the transaction, no path is protected
    this.#options = options;
    const runner = { shadowDir, bwrapPath, network, envPolicy };
    this.#sink = sink;
    this.#transactions = new Transactions(runner, {
      protectedNames: readOnly.map(plainName),
      sink,
    });
  }

  /** Returns the current transaction, or opens one. @throws (rejects) like `openTransaction`. */
  async current(): Promise<Transaction> {
    const next = this.#current.catch(() => undefined).then((last) => this.#after(last));
    this.#current = next;
    return next;
  }

  /** @throws (rejects) like {@link current}, and ERR_SANDBOX_CLOSED if the transaction was closed. */
  async runner(): Promise<Supervised> {
    const transaction = await this.current();
    if (this.#made?.transaction !== transaction) {
      this.#made = { transaction, runner: this.#makeRunner(transaction) };
    }
    const made = this.#made;
    return made.runner.catch((error: unknown) => {
      if (this.#made === made) this.#made = undefined; // bwrap may be installed before the next call
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
