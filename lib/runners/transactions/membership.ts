/** Registers runners whose commands work in a transaction that another runner opened. */

import type { TransactionHandle } from "../../../types/addon-transaction.js";
import type { Transaction } from "../../../types/transaction.js";
import { invalidType, invalidValue } from "../../errors.js";
import type { TransactionHome } from "../../home/home-view.js";
import type { RunMeter } from "../../metrics/run-meter.js";
import type { Ready } from "../supervised.js";

/** A runner other than the transaction's own. */
export type Member = {
  /** Counts each of its runs. */
  readonly meter: RunMeter;
  /** True if ending its runs would end nothing except prewarmed sandboxes. */
  isIdle(): boolean;
  /** Ends running commands, and resolves when none of their processes remain; others may start afterwards. */
  endRuns(): Promise<void>;
};

/** The part of an open transaction that this package's runners use. */
export type Membership = {
  readonly handle: TransactionHandle;
  /** The workspace as its runner was given it. */
  readonly workspace: string;
  state(): "open" | "closed" | "discarded";
  /** Resolves once it has noted what the host has where commands that have ended have changed something. */
  looked(): Promise<void>;
  /** The path of its commands' home, if they have one of the transaction's, and the caches that they share. */
  readonly home: TransactionHome;
  /** Precondition for starting a call in the transaction. */
  readonly ready: Ready;
  /** Adds a runner whose commands are ended before the transaction is committed, closed or discarded. */
  join(member: Member): void;
};

const memberships = new WeakMap<object, Membership>();
/** Where transactions are that this process has open, and that are not of this machine. */
const elsewhere = new WeakMap<object, string>();

/** Registers a transaction as one of this package. */
export function registerMembership(transaction: Transaction, membership: Membership): void {
  memberships.set(transaction, membership);
}

/** Registers a transaction that is not of this machine. `where`: such as "on the worker w1". */
export function registerElsewhere(transaction: Transaction, where: string): void {
  elsewhere.set(transaction, where);
}

/** True for a transaction of this machine. */
export function isMember(value: unknown): boolean {
  return typeof value === "object" && value !== null && memberships.has(value);
}

/** @throws TypeError for a value that is not a transaction of this machine; `field` names it. */
export function membershipOf(transaction: unknown, field: string): Membership {
  const isObject = typeof transaction === "object" && transaction !== null;
  const membership = isObject ? memberships.get(transaction) : undefined;
  if (membership !== undefined) return membership;
  const where = isObject ? elsewhere.get(transaction) : undefined;
  if (where === undefined) throw invalidType(field, "a transaction", transaction);
  throw invalidValue(`Expected \`${field}\` to be a transaction of this machine, got one ${where}`);
}

/**
 * Removes the transaction from a runner's options and returns it: the addon takes it separately.
 * @param own the runner's own copy of its options.
 * @throws TypeError like {@link membershipOf}.
 */
export function extractMembership(own: { transaction?: unknown }): Membership | undefined {
  const { transaction } = own;
  delete own.transaction;
  return transaction === undefined ? undefined : membershipOf(transaction, "transaction");
}
