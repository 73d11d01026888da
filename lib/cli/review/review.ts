/** `native-runner review`: a page for one transaction, until somebody ends it. */

import { realpathSync } from "node:fs";

import type { ListedTransaction } from "../../../types/transaction-options.js";
import { serveReview } from "../../review/serve-review.js";
import { listTransactions } from "../../runners/transactions/transactions.js";
import { CliError, printError } from "../terminal.js";
import { kNoTransaction } from "../transactions/exit-codes.js";
import {
  directoryOption,
  type PlaceOptions,
  withTransaction,
} from "../transactions/transaction-place.js";
import { visibleLine } from "../transactions/visible-text.js";
import { openPage } from "./open-page.js";

/** As commander hands them over. */
export type ReviewCliOptions = PlaceOptions & {
  port?: number;
  open?: boolean;
  approvedBy?: string;
};

const kSignals = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

/** Whether the directory is the transaction's workspace, or lies in it. */
function isOf({ workspace }: ListedTransaction, directory: string): boolean {
  return directory === workspace || directory.startsWith(`${workspace}/`);
}

/** The one that was opened last for the directory in which the command stands. */
async function lastHere(options: PlaceOptions): Promise<string> {
  const here = realpathSync(".");
  const listed = await listTransactions(directoryOption(options));
  const waiting = listed.filter((each) => each.state !== "open" && isOf(each, here));
  const last = waiting.at(-1); // the oldest is first
  if (last !== undefined) return last.id;
  const fix = "`native-runner tx list` shows those of other directories; name one by its id";
  throw new CliError(`no transaction of ${visibleLine(here)} waits`, kNoTransaction, fix);
}

/**
 * Serves until a signal, or until the transaction is discarded on the page.
 * @throws (rejects) as `withTransaction`; an Error of `node:net` where the port can't be had.
 */
export async function review(id: string | undefined, options: ReviewCliOptions): Promise<void> {
  const named = id ?? (await lastHere(options));
  await withTransaction(named, options, async (transaction, listed, runner) => {
    const { workspace, committed = false } = listed;
    let end = () => {};
    const ended = new Promise<void>((resolve) => {
      end = resolve;
    });
    for (const name of kSignals) process.once(name, end);
    let isDiscarded = false;
    await using served = await serveReview({
      transaction,
      runner,
      workspace,
      canUndo: committed,
      isLive: false,
      port: options.port,
      approvedBy: options.approvedBy,
      onSettled: (state) => {
        isDiscarded = state === "discarded";
        if (isDiscarded) end();
      },
    });
    process.stdout.write(`${served.url}\n`);
    printError(
      `reviews transaction ${transaction.id} of ${visibleLine(workspace)}; ^C ends the page`,
    );
    if (options.open) await openPage(served.url);
    await ended;
    if (isDiscarded) printError(`discarded ${transaction.id}`);
    else printError(`what was not committed waits in transaction ${transaction.id}`);
  });
}
