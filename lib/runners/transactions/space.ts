/** The bound of what the transactions of one workspace hold together on disk. */

import { realpath } from "node:fs/promises";

import type { NativeSpaceReport } from "../../../types/addon-transaction.js";
import type { TransactionSpace } from "../../../types/transaction-options.js";
import { invalidType, SandboxError, TransactionError } from "../../errors.js";
import { loadAddon } from "../../native.js";
import { formatSize } from "../../text.js";

const kOption = "maxTransactionBytes";
/** The share of the bound from which a warning is emitted. */
const kNear = 0.8;
/** Looks after runs take at most one part in this of the time. */
const kParts = 20;
const kMostWaitMs = 10_000;

/**
 * Removes the bound from a runner's options and returns it: the addon does not take it.
 * @param own the runner's own copy of its options.
 * @throws TypeError or RangeError for an invalid value.
 */
export function takeMaxTransactionBytes(own: {
  maxTransactionBytes?: number | undefined;
}): number | undefined {
  const { maxTransactionBytes: value } = own;
  delete own.maxTransactionBytes;
  if (value === undefined) return undefined;
  if (typeof value !== "number") throw invalidType(kOption, "a number", value);
  if (Number.isSafeInteger(value) && value >= 1) return value;
  const message = `Expected \`${kOption}\` to be an integer >= 1, got ${value}`;
  throw Object.assign(new RangeError(message), { code: "ERR_OUT_OF_RANGE" });
}

/** So many bytes more than what a transaction holds now. */
export type RoomNeeded = {
  /** Of the transaction. */
  id: string;
  bytes: (space: TransactionSpace) => number;
};

/** Measures the transactions of a workspace in a directory, and refuses what would exceed the bound. */
export class SpaceBound {
  readonly #maxBytes: number;
  readonly #workspace: string;
  readonly #directory: string;
  #last: NativeSpaceReport = { each: [], totalBytes: 0 };
  #running: Promise<void> | undefined;
  #next: Promise<void> | undefined;
  #timer: NodeJS.Timeout | undefined;
  /** From `performance.now()`: when the next look after a run may begin. */
  #nextMs = 0;
  #isNear = false;

  /**
   * @param maxBytes most bytes of all of them.
   * @param workspace as the runner was given it.
   * @param directory holds the transactions.
   */
  constructor(maxBytes: number, workspace: string, directory: string) {
    this.#maxBytes = maxBytes;
    this.#workspace = workspace;
    this.#directory = directory;
  }

  /**
   * Measures, and returns how many bytes there is still room for.
   * @param adds what is about to be added to what a transaction holds now; default: something.
   * @throws (rejects) TransactionError if there is no room for it; SandboxError if they can't be measured.
   */
  async expectRoom(adds?: RoomNeeded): Promise<number> {
    await this.#measure();
    const { each, totalBytes } = this.#last;
    const holder = each.find(({ id }) => id === adds?.id);
    const needed = (holder && adds?.bytes(holder)) ?? 0;
    const room = this.#maxBytes - totalBytes;
    if (room <= 0 || needed > room) {
      throw this.full(needed > 0 ? `, and this needs about ${formatSize(needed)} more` : "");
    }
    return room;
  }

  /** True if they held more than the bound when they were measured last, or something could not be measured. */
  get isFull(): boolean {
    const { each, totalBytes } = this.#last;
    return totalBytes > this.#maxBytes || each.some(({ isWhole }) => !isWhole);
  }

  /**
   * Measures.
   * @throws (rejects) TransactionError if they hold more than the bound; SandboxError as `expectRoom`.
   */
  async expectNotFull(): Promise<void> {
    await this.#measure();
    if (this.isFull) throw this.full();
  }

  /** Measures soon: a command may have written something. */
  changed(): void {
    if (this.#timer) return;
    const waitMs = Math.min(Math.max(this.#nextMs - performance.now(), 0), kMostWaitMs);
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      this.#measure().catch(() => {}); // the next call that needs room reports it
    }, waitMs).unref();
  }

  /** @param wants what there is no room for, as the message goes on. */
  full(wants = ""): TransactionError {
    const { each, totalBytes } = this.#last;
    const largest = each.reduce<TransactionSpace & { id?: string }>(
      (one, other) => (other.bytes > one.bytes ? other : one),
      { bytes: 0, sharedBytes: 0, changesBytes: 0, checkpointsBytes: 0, homeBytes: 0 },
    );
    const which = largest.id === undefined ? "" : `; ${largest.id} holds the most`;
    const message = `${this.#what(totalBytes)}${wants}: commit or discard some${which}`;
    return new TransactionError(message, "ERR_TRANSACTION_FULL", []);
  }

  #what(totalBytes: number): string {
    const allowed = `${kOption} allows ${formatSize(this.#maxBytes)}`;
    return `the transactions of ${this.#workspace} hold ${formatSize(totalBytes)}, ${allowed}`;
  }

  /** One look at a time: all who ask during one share one that begins afterwards. */
  #measure(): Promise<void> {
    this.#next ??= this.#measureAfter(this.#running);
    return this.#next;
  }

  async #measureAfter(running: Promise<void> | undefined): Promise<void> {
    await running?.catch(() => {});
    this.#running = this.#next;
    this.#next = undefined;
    const beginMs = performance.now();
    try {
      const workspace = await realpath(this.#workspace).catch(() => this.#workspace);
      const place = { directory: this.#directory, workspace };
      this.#last = await loadAddon().measureTransactions(place);
      const hidden = this.#last.each.find(({ isWhole }) => !isWhole);
      if (hidden) throw new Error(`${hidden.id} has a directory that keeps its owner out`);
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error);
      const code = "ERR_SANDBOX_SETUP";
      throw new SandboxError(`${kOption} can't be kept: ${why}`, { code, cause: error });
    } finally {
      const endMs = performance.now();
      this.#nextMs = endMs + (kParts - 1) * (endMs - beginMs);
    }
    this.#warn();
  }

  /** Once, until they hold less again. */
  #warn(): void {
    const { totalBytes } = this.#last;
    const wasNear = this.#isNear;
    this.#isNear = totalBytes > kNear * this.#maxBytes;
    if (!this.#isNear || wasNear) return;
    const message = `${this.#what(totalBytes)}: commit or discard some, since beyond it no command starts`;
    const code = "OPENAGENTIC_TRANSACTION_SPACE";
    process.emitWarning(message, { type: "SandboxWarning", code });
  }
}
