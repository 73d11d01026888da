/** Where the transactions of a command line are, and the one that it names. */

import { resolve } from "node:path";

import type { Transaction } from "../../../types/transaction.js";
import type { ListedTransaction } from "../../../types/transaction-options.js";
import { BubblewrapNativeRunner } from "../../runners/bubblewrap.js";
import { listTransactions } from "../../runners/transactions/transactions.js";
import { type AuditOption, recorded } from "../audit/audit-option.js";
import { CliError, printError } from "../terminal.js";
import { kInUse, kNoTransaction } from "./exit-codes.js";

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
