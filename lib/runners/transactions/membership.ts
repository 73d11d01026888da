/** The runners whose commands work in a transaction that another one has opened. */

import type { TransactionHandle } from "../../../types/addon-transaction.js";
import type { Transaction } from "../../../types/transaction.js";
import { invalidType } from "../../errors.js";
import type { RunMeter } from "../../metrics/run-meter.js";
import type { Ready } from "../supervised.js";

/** A runner that is not the transaction's own. */
export type Member = {
  /** Reported of each of its runs. */
  readonly meter: RunMeter;
  /** There is nothing to be ended, but for sandboxes that stand. */
  isIdle(): boolean;
  /** Ends what runs, and resolves when nothing of it is left; others may be begun after it. */
  endRuns(): Promise<void>;
};

/** What the runners of this package have of an open transaction. */
export type Membership = {
  readonly handle: TransactionHandle;
  state(): "open" | "closed" | "discarded";
  /** What has to come before anything is begun in it. */
  readonly ready: Ready;
  /** What runs in it is ended before it is committed, closed or discarded. */
  join(member: Member): void;
};

const memberships = new WeakMap<object, Membership>();

/** Makes a transaction known as one of ours. */
export function registerMembership(transaction: Transaction, membership: Membership): void {
  memberships.set(transaction, membership);
}

/** @throws TypeError for what is no transaction of this package; `field` names it. */
export function membershipOf(transaction: unknown, field: string): Membership {
  const isObject = typeof transaction === "object" && transaction !== null;
  const membership = isObject ? memberships.get(transaction) : undefined;
  if (membership === undefined) throw invalidType(field, "a transaction", transaction);
  return membership;
}

/**
 * The transaction of a runner's options, which is taken out of them: the addon has it apart.
 * @param own the runner's own copy of its options.
 * @throws TypeError as {@link membershipOf}.
 */
export function extractMembership(own: { transaction?: unknown }): Membership | undefined {
  const { transaction } = own;
  delete own.transaction;
  return transaction === undefined ? undefined : membershipOf(transaction, "transaction");
}
