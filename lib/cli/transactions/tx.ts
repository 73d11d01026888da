/** The grammar of `native-runner tx`. Parsing only. */

import type { Command, OutputConfiguration } from "commander";
import pc from "picocolors";
import type { Transaction } from "../../../types/transaction.js";
import type { ListedTransaction } from "../../../types/transaction-options.js";
import { changeSummary, counted, diffText, notableChanges } from "../../change-text.js";
import { TransactionError } from "../../errors.js";
import { listTransactions } from "../../runners/transactions/transactions.js";
import { visibleLine } from "../../text.js";
import { withAllowProtected, withAuditOption, withStateDirectory } from "../options.js";
import { printError, wantsColors, watchOutput } from "../terminal.js";
import { path } from "../values.js";
import { kMaxDiffBytes, page } from "./settle.js";
import {
  directoryOption,
  type PlaceOptions,
  placeWords,
  refusalOf,
  withTransaction,
} from "./transaction-place.js";

/** The implementations of the commands. */
export type TxActions = {
  txList(options: TxOptions): Promise<void>;
  txShow(id: string, options: TxPathOptions): Promise<void>;
  txDiff(id: string, options: TxPathOptions): Promise<void>;
  txCommit(id: string, options: TxCommitOptions): Promise<void>;
  txUndo(id: string, options: TxOptions): Promise<void>;
  txDiscard(id: string, options: TxOptions): Promise<void>;
};

const kId = "a transaction's id, or enough of its beginning";

function withPaths(command: Command): Command {
  return command.option(
    "--paths <path>",
    "this path of the workspace and all below it only; repeatable",
    path,
  );
}

/** Adds the commands. `say`: returns how parse errors are written, by the command's name. */
export function addTxCommand(
  program: Command,
  actions: TxActions,
  say: (name: string) => OutputConfiguration,
): void {
  const tx = program
    .command("tx")
    .description("the transactions of `run --transaction` that wait on disk")
    .usage("list|show|diff|commit|undo|discard [options] ID")
    .configureOutput(say("tx"))
    .addHelpText(
      "after",
      `
Exit codes: 0 done; 2 misuse; 120 no such transaction; 121 a conflict; 122 it is protected (both:
nothing was changed); 123 another process has it open; 125 it can't be taken up.

Examples:
  $ native-runner tx list
  $ native-runner tx diff 4be8 | git apply --check
  $ native-runner tx commit 4be8 --paths src --paths package.json
  $ native-runner tx undo 4be8`,
    );
  const add = (name: string, description: string) =>
    withStateDirectory(tx.command(name).description(description))
      .option("--json", "print JSON instead")
      .configureOutput(say(`tx ${name}`));
  add("list", "those on disk, the oldest first").action(actions.txList);
  withPaths(add("show", "what one has changed").argument("<id>", kId)).action(actions.txShow);
  withPaths(
    add("diff", "the same as a patch for `git apply`; at a terminal in $PAGER").argument(
      "<id>",
      kId,
    ),
  ).action(actions.txDiff);
  const addDeed = (name: string, description: string) =>
    withAuditOption(add(name, description).argument("<id>", kId));
  withAllowProtected(
    withPaths(addDeed("commit", "bring the changes to the workspace, all or none")),
  ).action(actions.txCommit);
  addDeed("undo", "take the last commit back").action(actions.txUndo);
  addDeed("discard", "remove it; the workspace stays as it is").action(actions.txDiscard);
}

/** `native-runner tx`: works with transactions on disk. */

/** Options as commander passes them. */
type TxOptions = PlaceOptions & { json?: boolean };
/** Options of `show`, `diff` and `commit`. */
type TxPathOptions = TxOptions & { paths?: string[] };
/** Options of `commit`. */
type TxCommitOptions = TxPathOptions & { allowProtected?: string[] };

function print(value: object): void {
  process.stdout.write(`${JSON.stringify(value, null, 2)}\n`);
}

/** Returns the library's option; omitted if not given. */
const pathsOption = ({ paths }: TxPathOptions) => (paths === undefined ? {} : { paths });

/** Reports why the action was refused, and sets the exit code. */
function tellRefusal(error: unknown, id: string, options: TxOptions, isUndo: boolean): void {
  if (!(error instanceof TransactionError)) throw error;
  const refusal = refusalOf(error, `${id}${placeWords(options)}`, isUndo);
  if (options.json) print({ id, error: refusal.json });
  printError(refusal.message, refusal.fix);
  process.exitCode = refusal.exitCode;
}

/** `tx list`: lists the transactions on disk. */
export async function txList(options: TxOptions): Promise<void> {
  watchOutput(() => {});
  const listed = await listTransactions(directoryOption(options));
  if (options.json) print(listed);
  else process.stdout.write(listText(listed, Date.now(), wantsColors(process.stdout)));
}

/** `tx show`: shows the changes of a transaction. */
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

/** `tx diff`: prints the changes as a patch, for `git apply`; at a terminal in the pager. */
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

/** `tx commit`: commits all or nothing; the backup for an undo is kept. */
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

/** `tx undo`: undoes the last commit. */
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

/** `tx discard`: removes the transaction completely; the workspace is unchanged. */
export async function txDiscard(id: string, options: TxOptions): Promise<void> {
  watchOutput(() => {});
  await withTransaction(id, options, async (transaction) => {
    await transaction.discard();
    if (options.json) print({ id: transaction.id, discarded: true });
    else process.stdout.write(`discarded ${transaction.id}\n`);
  });
}

/** Formats the transactions on disk for people. Pure. */

const kMinute = 60_000;
const kHour = 60 * kMinute;
const kDay = 24 * kHour;

/** Returns the elapsed time in the largest whole unit. */
export function age(ms: number): string {
  if (ms < kMinute) return "just now";
  if (ms < kHour) return `${Math.floor(ms / kMinute)} min ago`;
  return ms < kDay ? `${Math.floor(ms / kHour)} h ago` : `${Math.floor(ms / kDay)} d ago`;
}

const kRecovered: Record<NonNullable<ListedTransaction["recovered"]>, string> = {
  "rolled-back": "(a commit is to be rolled back)",
  completed: "(a commit is to be completed)",
  torn: "",
};

/** Returns a line for each transaction, under a heading; ends with a newline. */
export function listText(
  listed: readonly ListedTransaction[],
  now: number,
  useColors: boolean,
): string {
  if (listed.length === 0) return "no transactions\n";
  const colors = pc.createColors(useColors);
  const paint = { open: colors.green, closed: (text: string) => text, torn: colors.red };
  const rows = listed.map(({ id, state, createdAt, workspace, recovered, committed }) => ({
    id,
    state,
    age: age(now - createdAt.getTime()),
    workspace: [
      visibleLine(workspace),
      committed ? "(committed: undo takes it back)" : "",
      recovered ? kRecovered[recovered] : "",
    ]
      .filter((word) => word !== "")
      .join(" "),
  }));
  const width = Math.max("OPENED".length, ...rows.map((row) => row.age.length));
  const heading = `ID            STATE   ${"OPENED".padEnd(width)}  WORKSPACE`;
  const lines = rows.map(
    (row) =>
      `${row.id}  ${paint[row.state](row.state.padEnd(6))}  ${row.age.padEnd(width)}  ${row.workspace}`,
  );
  return `${[colors.bold(heading), ...lines].join("\n")}\n`;
}
