/** Locates the transactions of a command line, and the one that it names. */

import { statSync } from "node:fs";
import { resolve } from "node:path";
import type { MergeConflict, Transaction } from "../../../types/transaction.js";
import type { ListedTransaction } from "../../../types/transaction-options.js";
import type { TransactionError } from "../../errors.js";
import { BubblewrapNativeRunner } from "../../runners/bubblewrap.js";
import { listTransactions } from "../../runners/transactions/transactions.js";
import type { RuntimeRunner } from "../../runtime/runtime.js";
import { stateDirectoryWords, visibleLine } from "../../text.js";
import { type AuditOption, recorded } from "../options.js";
import { CliError, printError } from "../terminal.js";

/** Options common to all commands for transactions. */
export type PlaceOptions = AuditOption & {
  /** As in `openTransaction`; may be relative. */
  stateDirectory?: string;
};

const kDone: Record<NonNullable<Transaction["recovered"]>, string> = {
  "rolled-back": "a commit that was interrupted has been rolled back",
  completed: "a commit that was interrupted has been completed",
  torn: "a commit that was interrupted could not be rolled back whole: see commit/aside in its directory",
};

/** Returns the options for the library. */
export function directoryOption({ stateDirectory }: PlaceOptions): { directory?: string } {
  return stateDirectory === undefined ? {} : { directory: resolve(stateDirectory) };
}

/** Returns the words that select this directory in `native-runner tx …`. */
export function placeWords(options: PlaceOptions): string {
  return stateDirectoryWords(directoryOption(options).directory);
}

/**
 * Returns the transaction that an id, or the beginning of one, names.
 * @throws (rejects) CliError if no transaction, or more than one, matches.
 */
export async function findTransaction(
  id: string,
  options: PlaceOptions,
): Promise<ListedTransaction> {
  if (!/^[0-9a-f]{1,12}$/.test(id)) {
    throw new CliError(`"${id}" is no transaction's id, nor the beginning of one`, 2);
  }
  const found = (await listTransactions(directoryOption(options))).filter((listed) =>
    listed.id.startsWith(id),
  );
  const [first, ...others] = found;
  if (first === undefined) {
    const fix = `\`native-runner tx list${placeWords(options)}\` shows those that there are`;
    throw new CliError(`there is no transaction ${id}`, kNoTransaction, fix);
  }
  if (others.length === 0) return first;
  const ids = found.map((listed) => listed.id).join(", ");
  throw new CliError(`${id} is the beginning of several transactions: ${ids}`, 2);
}

/** True if a workspace is no directory any more. */
export function isGone(workspace: string): boolean {
  try {
    return !statSync(workspace).isDirectory();
  } catch (error) {
    return ["ENOENT", "ENOTDIR"].includes(String((error as NodeJS.ErrnoException).code));
  }
}

/** @throws CliError if another process has it open. */
export function expectFree({ id, state }: ListedTransaction): void {
  if (state !== "open") return;
  const fix = "close it there first, or wait for that to end";
  throw new CliError(`transaction ${id} is open in another process`, kInUse, fix);
}

/**
 * Opens a transaction for `use` and closes it afterwards.
 * @throws (rejects) like {@link findTransaction}; CliError if another process has it open; SandboxError if it
 * can't be resumed; any error of `use`.
 */
export async function withTransaction<Value>(
  id: string,
  options: PlaceOptions,
  use: (
    transaction: Transaction,
    listed: ListedTransaction,
    runner: BubblewrapNativeRunner,
  ) => Promise<Value>,
): Promise<Value> {
  const listed = await findTransaction(id, options);
  expectFree(listed);
  if (isGone(listed.workspace)) {
    const fix = `bring it back; or \`native-runner tx prune${placeWords(options)}\` discards it`;
    const workspace = visibleLine(listed.workspace);
    throw new CliError(`the workspace of ${listed.id} is gone: ${workspace}`, kCannot, fix);
  }
  return recorded(options, async (auditLog) => {
    await using runner = new BubblewrapNativeRunner({
      shadowDir: listed.workspace,
      prewarm: 0,
      clone: "never",
      auditLog,
    });
    const transaction = await runner.resumeTransaction(listed.id, directoryOption(options));
    if (transaction.recovered) printError(`warning: ${kDone[transaction.recovered]}`);
    return await use(transaction, listed, runner);
  });
}

/**
 * Opens the transaction that the options request, with the policy of the runner; undefined if they request
 * none.
 * @throws (rejects) like `openTransaction`.
 */
export async function openFor(
  runner: RuntimeRunner,
  options: PlaceOptions & { transaction?: boolean },
): Promise<Transaction | undefined> {
  if (!options.transaction) return undefined;
  if (!(runner instanceof BubblewrapNativeRunner)) {
    throw new CliError("--transaction needs Bubblewrap", 2, "name --runtime bubblewrap");
  }
  return runner.openTransaction(directoryOption(options));
}

/** Explains in terms of the command line why a commit or an undo was refused. Pure. */

/** The refusal for standard error, and as JSON. */
export type Refusal = {
  message: string;
  fix: string;
  exitCode: number;
  json: {
    code: string;
    message: string;
    paths: readonly string[];
    conflicts?: readonly MergeConflict[];
  };
};

/**
 * @param what name of the transaction for the command line: its id and its directory.
 * @param isUndo true for an undo, false for a commit.
 */
export function refusalOf(error: TransactionError, what: string, isUndo = false): Refusal {
  const { code, message, paths } = error;
  const named = paths.map((path) => `\n  ${visibleLine(path)}`).join("");
  const json = { code, message, paths };
  const commit = `\`native-runner tx commit ${what}`;
  if (code === "ERR_TRANSACTION_PROTECTED") {
    return {
      message: `nothing was committed: code of this host runs by itself what would be changed:${named}`,
      fix: `look at it; ${commit} --allow-protected PATH\` allows it, --paths PATH commits others`,
      exitCode: kProtected,
      json,
    };
  }
  if (isUndo) {
    return {
      message: `nothing was undone: this has been changed since the commit:${named}`,
      fix: "what the files were is in commit/aside of the transaction's directory",
      exitCode: kConflict,
      json,
    };
  }
  if (error.reasons !== undefined) {
    const reasons = error.reasons.map(({ path, reason }) => `\n  ${visibleLine(path)}: ${reason}`);
    return {
      message: `conflict, nothing was committed: this can't be merged:${reasons.join("")}`,
      fix: `${commit} --paths PATH\` commits others; \`native-runner tx diff ${what}\` shows what to bring together by hand`,
      exitCode: kConflict,
      json: { ...json, conflicts: error.reasons },
    };
  }
  return {
    message: `conflict, nothing was committed: the host has changed this too:${named}`,
    fix: `${commit} --merge\` merges texts by their lines; ${commit} --paths PATH\` commits others; \`native-runner tx diff ${what}\` shows what to bring together by hand`,
    exitCode: kConflict,
    json,
  };
}

/** Exit codes for actions on transactions, besides those of `run`; our own codes are below 128. */

/** It can't be resumed. */
const kCannot = 125;
/** No transaction has this id. */
export const kNoTransaction = 120;
/** The host, or the other side of a merge, has changed the same files: nothing was changed. */
export const kConflict = 121;
/** Code of the host runs the changed files on its own: nothing was committed. */
const kProtected = 122;
/** Another process has the transaction open. */
const kInUse = 123;
