/** Where the transactions of a command line are, and the one that it names. */

import { resolve } from "node:path";
import type { Transaction } from "../../../types/transaction.js";
import type { ListedTransaction } from "../../../types/transaction-options.js";
import type { TransactionError } from "../../errors.js";
import { BubblewrapNativeRunner } from "../../runners/bubblewrap.js";
import { listTransactions } from "../../runners/transactions/transactions.js";
import type { RuntimeRunner } from "../../runtime/runtime.js";
import { visibleLine } from "../../text.js";
import { type AuditOption, recorded } from "../options.js";
import { CliError, printError } from "../terminal.js";

/** Options that every command about transactions has. */
export type PlaceOptions = AuditOption & {
  /** As in `openTransaction`; also relative. */
  stateDirectory?: string;
};

const kDone: Record<NonNullable<Transaction["recovered"]>, string> = {
  "rolled-back": "a commit that was interrupted has been rolled back",
  completed: "a commit that was interrupted has been completed",
  torn: "a commit that was interrupted could not be rolled back whole: see commit/aside in its directory",
};

/** The options for the library. */
export function directoryOption({ stateDirectory }: PlaceOptions): { directory?: string } {
  return stateDirectory === undefined ? {} : { directory: resolve(stateDirectory) };
}

/** What has to stand behind `native-runner tx …` to mean this place. */
export function placeWords({ stateDirectory }: PlaceOptions): string {
  return stateDirectory === undefined ? "" : ` --state-directory ${stateDirectory}`;
}

/**
 * The one that an id, or the beginning of one, names.
 * @throws (rejects) CliError where there is none, or more than one.
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

/**
 * Does something with a transaction, which is open meanwhile.
 * @throws (rejects) as {@link findTransaction}; CliError where another process has it open;
 * SandboxError where it can't be taken up; what `use` throws.
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
  if (listed.state === "open") {
    const fix = "close it there first, or wait for that to end";
    throw new CliError(`transaction ${listed.id} is open in another process`, kInUse, fix);
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
 * The transaction that the options ask for, with the policy of the runner; undefined for none.
 * @throws (rejects) as `openTransaction`.
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

/** Why a commit, or taking one back, was refused, in the words of the command line. Pure. */

/** For standard error, and for programs. */
export type Refusal = {
  message: string;
  fix: string;
  exitCode: number;
  json: { code: string; message: string; paths: readonly string[] };
};

/**
 * @param what how the command line names the transaction: its id, and where it is.
 * @param isUndo of an undo; else of a commit.
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
  return {
    message: `conflict, nothing was committed: the host has changed this too:${named}`,
    fix: `${commit} --paths PATH\` commits others; \`native-runner tx diff ${what}\` shows what to bring together by hand`,
    exitCode: kConflict,
    json,
  };
}

/** Exit codes of what is done with transactions, besides those of `run`; 123 and below 128 are ours. */

/** There is no transaction of this id. */
export const kNoTransaction = 120;
/** The host has changed the same files: nothing was done. */
const kConflict = 121;
/** Code of the host's runs by itself what would be changed: nothing was done. */
const kProtected = 122;
/** Another process has the transaction open. */
const kInUse = 123;
