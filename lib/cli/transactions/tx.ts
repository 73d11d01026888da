/** `native-runner tx`: transactions that wait on disk. */

import type { Transaction } from "../../../types/transaction.js";
import { TransactionError } from "../../runners/transactions/transaction-error.js";
import { listTransactions } from "../../runners/transactions/transactions.js";
import { printError, wantsColors, watchOutput } from "../terminal.js";
import { changeSummary, counted, diffText, notableChanges } from "./change-text.js";
import { listText } from "./list-text.js";
import { page } from "./pager.js";
import { kMaxDiffBytes } from "./settle.js";
import { refusalOf } from "./transaction-failure.js";
import {
  directoryOption,
  type PlaceOptions,
  placeWords,
  withTransaction,
} from "./transaction-place.js";
import { visibleLine } from "./visible-text.js";

/** As commander hands them over. */
export type TxOptions = PlaceOptions & { json?: boolean };
/** Of `show`, `diff` and `commit`. */
export type TxPathOptions = TxOptions & { paths?: string[] };
/** Of `commit`. */
export type TxCommitOptions = TxPathOptions & { allowProtected?: string[] };

function print(value: object): void {
  process.stdout.write(`${JSON.stringify(value, null, 2)}\n`);
}

/** The library's, without what was not said. */
const pathsOption = ({ paths }: TxPathOptions) => (paths === undefined ? {} : { paths });

/** Tells why it was refused, and sets the exit code. */
function tellRefusal(error: unknown, id: string, options: TxOptions, isUndo: boolean): void {
  if (!(error instanceof TransactionError)) throw error;
  const refusal = refusalOf(error, `${id}${placeWords(options)}`, isUndo);
  if (options.json) print({ id, error: refusal.json });
  printError(refusal.message, refusal.fix);
  process.exitCode = refusal.exitCode;
}

/** `tx list`: those on disk. */
export async function txList(options: TxOptions): Promise<void> {
  watchOutput(() => {});
  const listed = await listTransactions(directoryOption(options));
  if (options.json) print(listed);
  else process.stdout.write(listText(listed, Date.now(), wantsColors(process.stdout)));
}

/** `tx show`: what one has changed. */
export async function txShow(id: string, options: TxPathOptions): Promise<void> {
  watchOutput(() => {});
  await withTransaction(id, options, async (transaction, { createdAt, workspace, backend }) => {
    const changes = await transaction.changes(pathsOption(options));
    if (options.json) {
      print({ id: transaction.id, workspace, createdAt, backend, changes });
      return;
    }
    const summary = changeSummary(changes, wantsColors(process.stdout));
    process.stdout.write(summary === "" ? "no changes\n" : summary);
  });
}

/** `tx diff`: the same as a patch, for `git apply`; at a terminal in the pager. */
export async function txDiff(id: string, options: TxPathOptions): Promise<void> {
  watchOutput(() => {});
  await withTransaction(id, options, async (transaction) => {
    const diff = await transaction.diff({ ...pathsOption(options), maxBytes: kMaxDiffBytes });
    if (options.json) print({ id: transaction.id, diff });
    else if (!process.stdout.isTTY) process.stdout.write(diff);
    else if (diff !== "") await page(diffText(diff, wantsColors(process.stdout)));
    else process.stdout.write("no changes\n");
  });
}

/** `tx commit`: all or nothing; what it takes to undo it stays. */
export async function txCommit(id: string, options: TxCommitOptions): Promise<void> {
  watchOutput(() => {});
  await withTransaction(id, options, async (transaction, { workspace }) => {
    const { allowProtected = [] } = options;
    try {
      const report = await transaction.commit({ ...pathsOption(options), allowProtected });
      const { committed, left } = report;
      if (options.json) {
        print({ id: transaction.id, committed, left });
        return;
      }
      const summary = changeSummary(committed, wantsColors(process.stdout));
      process.stdout.write(summary === "" ? "nothing to commit\n" : summary);
      if (left.length > 0) {
        printError(`${counted(notableChanges(left).length, "change")} not committed, and waiting`);
      }
      if (committed.length > 0) tellOfUndo(transaction, workspace, options);
    } catch (error) {
      tellRefusal(error, transaction.id, options, false);
    }
  });
}

function tellOfUndo({ id }: Transaction, workspace: string, options: TxOptions): void {
  const place = placeWords(options);
  printError(
    `committed to ${visibleLine(workspace)}; \`native-runner tx undo ${id}${place}\` takes it back, \`tx discard\` forgets how`,
  );
}

/** `tx undo`: of the last commit. */
export async function txUndo(id: string, options: TxOptions): Promise<void> {
  watchOutput(() => {});
  await withTransaction(id, options, async (transaction, { workspace }) => {
    try {
      await transaction.undo();
      if (options.json) print({ id: transaction.id, undone: true });
      else
        process.stdout.write(
          `${visibleLine(workspace)} is as it was; the changes wait in ${transaction.id}\n`,
        );
    } catch (error) {
      tellRefusal(error, transaction.id, options, true);
    }
  });
}

/** `tx discard`: the workspace stays as it is, and nothing is left of the transaction. */
export async function txDiscard(id: string, options: TxOptions): Promise<void> {
  watchOutput(() => {});
  await withTransaction(id, options, async (transaction) => {
    await transaction.discard();
    if (options.json) print({ id: transaction.id, discarded: true });
    else process.stdout.write(`discarded ${transaction.id}\n`);
  });
}
