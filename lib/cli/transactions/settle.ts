/** What becomes of the changes of `run --transaction`. */

import type { SandboxedExecResult } from "../../../types/public.js";
import type { Change, Transaction } from "../../../types/transaction.js";
import { TransactionError } from "../../runners/transactions/transaction-error.js";
import type { CliOptions } from "../options.js";
import { printError, wantsColors } from "../terminal.js";
import { ask } from "./ask.js";
import { changeSummary, counted, diffText, notableChanges } from "./change-text.js";
import { page } from "./pager.js";
import { type Refusal, refusalOf } from "./transaction-failure.js";
import { placeWords } from "./transaction-place.js";

/** The largest text that V8 has room for, in bytes. */
export const kMaxDiffBytes = 256 * 1024 ** 2;

/** For --json. */
export type Settled = {
  id: string;
  /** "kept": it waits on disk. */
  state: "committed" | "kept" | "discarded";
  changes: readonly Change[];
  /** Of a commit: what still waits. */
  left?: readonly Change[];
  /** Of a commit that was refused. */
  error?: Refusal["json"];
};

const hasSucceeded = ({ outcome, exitCode }: SandboxedExecResult) =>
  outcome.kind === "exited" && exitCode === 0;

class Settlement {
  readonly #transaction: Transaction;
  readonly #options: CliOptions;
  readonly #changes: readonly Change[];

  constructor(transaction: Transaction, options: CliOptions, changes: readonly Change[]) {
    this.#transaction = transaction;
    this.#options = options;
    this.#changes = changes;
  }

  #tell(message: string, fix?: string): void {
    if (!this.#options.json) printError(message, fix);
  }

  #refusal(error: TransactionError): Refusal {
    return refusalOf(error, `${this.#transaction.id}${placeWords(this.#options)}`);
  }

  async discard(): Promise<Settled> {
    await this.#transaction.discard();
    if (this.#changes.length > 0) this.#tell("discarded");
    return { id: this.#transaction.id, state: "discarded", changes: this.#changes };
  }

  async keep(why = ""): Promise<Settled> {
    const { id } = this.#transaction;
    await this.#transaction.close();
    const place = placeWords(this.#options);
    this.#tell(
      `${why}the changes wait in transaction ${id}: \`native-runner tx show|diff|commit|discard ${id}${place}\``,
    );
    return { id, state: "kept", changes: this.#changes };
  }

  /** @throws (rejects) TransactionError where it is refused. */
  async commit(): Promise<Settled> {
    const { id } = this.#transaction;
    const { allowProtected = [] } = this.#options;
    const { committed, left } = await this.#transaction.commit({ allowProtected });
    await this.#transaction.close();
    const place = placeWords(this.#options);
    const waits =
      left.length === 0 ? "" : `; ${counted(left.length, "change")} can't be, and waits`;
    this.#tell(
      `committed ${counted(notableChanges(committed).length, "change")}${waits}; \`native-runner tx undo ${id}${place}\` takes it back`,
    );
    return { id, state: "committed", changes: this.#changes, left };
  }

  /** As `commit`, but that a refusal is told, and the changes are kept. */
  async commitOrKeep(): Promise<Settled> {
    try {
      return await this.commit();
    } catch (error) {
      if (!(error instanceof TransactionError)) throw error;
      const refusal = this.#refusal(error);
      this.#tell(refusal.message, refusal.fix);
      process.exitCode = refusal.exitCode;
      return { ...(await this.keep()), error: refusal.json };
    }
  }

  /** Asks until something is done. */
  async asAsked(signal: AbortSignal): Promise<Settled> {
    for (;;) {
      const answer = await ask(signal);
      if (answer === "keep") return this.keep();
      if (answer === "discard") return this.discard();
      try {
        if (answer === "commit") return await this.commit();
        const diff = await this.#transaction.diff({ maxBytes: kMaxDiffBytes });
        await page(diffText(diff, wantsColors(process.stdout)));
      } catch (error) {
        if (!(error instanceof TransactionError) && !(error instanceof RangeError)) throw error;
        if (error instanceof RangeError)
          printError(
            "the diff is too long: keep the changes, and use `native-runner tx diff --paths`",
          );
        else printError(this.#refusal(error).message, this.#refusal(error).fix);
      }
    }
  }
}

/**
 * Shows what a command has changed, and does with it what the options say, or the user. Where nobody can
 * be asked, and where it fails, it is kept, so that nothing is lost.
 */
export async function settle(
  transaction: Transaction,
  result: SandboxedExecResult,
  options: CliOptions,
  signal: AbortSignal,
): Promise<Settled> {
  try {
    return await settled(transaction, result, options, signal);
  } catch (error) {
    await transaction.close();
    printError(`what it has changed waits in transaction ${transaction.id}, since this failed:`);
    throw error;
  }
}

async function settled(
  transaction: Transaction,
  result: SandboxedExecResult,
  options: CliOptions,
  signal: AbortSignal,
): Promise<Settled> {
  const changes = await transaction.changes();
  const settlement = new Settlement(transaction, options, changes);
  if (changes.length === 0) {
    if (!options.json) printError("it has changed nothing");
    return settlement.discard();
  }
  if (!options.json) {
    process.stderr.write(changeSummary(changes, wantsColors(process.stderr)));
  }
  if (options.discard) return settlement.discard();
  if (options.commit) {
    if (hasSucceeded(result)) return settlement.commitOrKeep();
    return settlement.keep("nothing was committed, since the command did not exit with 0: ");
  }
  const canAsk = process.stdin.isTTY && process.stderr.isTTY && !options.json;
  return canAsk && !signal.aborted ? settlement.asAsked(signal) : settlement.keep();
}
