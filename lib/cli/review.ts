/** `native-runner review`: serves a page for one transaction, and branches beside it, until the user ends it. */

// biome-ignore lint/style/noRestrictedImports: the browser outlives this process
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

import type { ListedTransaction } from "../../types/transaction-options.js";
import { commentWords, placeOf } from "../comment-text.js";
import { type ReviewBranch, serveReview } from "../review/serve-review.js";
import type { BubblewrapNativeRunner } from "../runners/bubblewrap.js";
import { listTransactions } from "../runners/transactions/transactions.js";
import { visibleLine } from "../text.js";
import { CliError, printError } from "./terminal.js";
import {
  directoryOption,
  expectFree,
  findTransaction,
  kNoTransaction,
  type PlaceOptions,
  withTransaction,
} from "./transactions/transaction-place.js";

/** Options as commander passes them. */
export type ReviewCliOptions = PlaceOptions & {
  port?: number;
  open?: boolean;
  approvedBy?: string;
};

const kSignals = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

/** True if the directory is the transaction's workspace, or inside it. */
function isOf({ workspace }: ListedTransaction, directory: string): boolean {
  return directory === workspace || directory.startsWith(`${workspace}/`);
}

/** Returns the id of the most recently opened transaction for the current directory. */
async function lastHere(options: PlaceOptions): Promise<string> {
  const here = realpathSync(".");
  const listed = await listTransactions(directoryOption(options));
  const waiting = listed.filter((each) => each.state !== "open" && isOf(each, here));
  const last = waiting.at(-1); // oldest first
  if (last !== undefined) return last.id;
  const fix = "`native-runner tx list` shows those of other directories; name one by its id";
  throw new CliError(`no transaction of ${visibleLine(here)} waits`, kNoTransaction, fix);
}

/**
 * Opens the branches that ids name; whoever calls it closes the runner, and so them.
 * @throws (rejects) CliError for one of another workspace, one that is named twice, and one that is open elsewhere
 */
async function openBranches(
  ids: readonly string[],
  target: ListedTransaction,
  runner: BubblewrapNativeRunner,
  options: PlaceOptions,
): Promise<ReviewBranch[]> {
  const found: ListedTransaction[] = [];
  for (const id of ids) {
    const branch = await findTransaction(id, options);
    if ([target, ...found].some((other) => other.id === branch.id)) {
      throw new CliError(`${branch.id} is named twice`, 2);
    }
    if (branch.workspace !== target.workspace) {
      const workspace = visibleLine(branch.workspace);
      throw new CliError(`${branch.id} is of another workspace: ${workspace}`, 2);
    }
    expectFree(branch);
    found.push(branch);
  }
  const branches: ReviewBranch[] = [];
  for (const { id } of found) {
    const transaction = await runner.resumeTransaction(id, directoryOption(options));
    branches.push({ transaction });
  }
  return branches;
}

/**
 * Serves until a signal, or until the transaction is discarded on the page.
 * @param ids of the transaction, and of the branches beside it. Default: the directory's last transaction.
 * @throws (rejects) like `withTransaction`; an Error of `node:net` if the port is not available.
 */
export async function review(ids: readonly string[], options: ReviewCliOptions): Promise<void> {
  const [first, ...others] = ids;
  const named = first ?? (await lastHere(options));
  await withTransaction(named, options, async (transaction, listed, runner) => {
    const { workspace, committed = false } = listed;
    const branches = await openBranches(others, listed, runner, options);
    let end = () => {};
    const ended = new Promise<void>((resolve) => {
      end = resolve;
    });
    for (const name of kSignals) process.once(name, end);
    let isDiscarded = false;
    await using served = await serveReview({
      transaction,
      runner,
      branches,
      workspace,
      canUndo: committed,
      isLive: false,
      port: options.port,
      approvedBy: options.approvedBy,
      onSettled: (state) => {
        isDiscarded = state === "discarded";
        if (isDiscarded) end();
      },
      onComment: (comment, event) => {
        if (event !== "added") return;
        const [first = ""] = comment.text.split("\n", 1);
        printError(`comment on ${placeOf(comment)}: ${visibleLine(first)}`);
      },
    });
    process.stdout.write(`${served.url}\n`);
    const count = branches.length;
    const beside = count === 0 ? "" : ` and ${count === 1 ? "a branch" : `${count} branches`}`;
    printError(
      `reviews transaction ${transaction.id}${beside} of ${visibleLine(workspace)}; ^C ends the page`,
    );
    if (options.open) await openPage(served.url);
    await ended;
    const comments = await served.comments();
    if (comments.length > 0) process.stdout.write(`\n${commentWords(comments)}\n`);
    if (isDiscarded) printError(`discarded ${transaction.id}`);
    else printError(`what was not committed waits in transaction ${transaction.id}`);
  });
}

/** Opens the user's browser without exposing the address in the process list. */

const kOwnersFile = 0o600;

const redirection = (url: string) =>
  `<!doctype html><meta charset="utf-8"><meta name="referrer" content="no-referrer">` +
  `<meta http-equiv="refresh" content="0; url=${url}"><title>native-runner</title>\n`;

/**
 * Opens a page through a file that only its user can read: other users can read the arguments of a browser,
 * and the address contains a token.
 */
async function openPage(url: string): Promise<void> {
  const directory = mkdtempSync(join(tmpdir(), "native-runner-review-"));
  const file = join(directory, "open.html");
  writeFileSync(file, redirection(url), { mode: kOwnersFile });
  process.once("exit", () => rmSync(directory, { recursive: true, force: true }));
  const browser = spawn("xdg-open", [pathToFileURL(file).href], {
    stdio: "ignore",
    detached: true,
  });
  browser.unref();
  const failed = once(browser, "error").then(([error]) => error as Error);
  const started = once(browser, "spawn").then(() => undefined);
  const error = await Promise.race([failed, started]);
  if (error) printError("there is no xdg-open to open it with: open the address yourself");
}
