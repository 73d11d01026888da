/** `@openagentic/native-runner/review`: a page on which a person reviews a transaction. */

import { realpath } from "node:fs/promises";

import type { ReviewComment, ReviewCommentEvent } from "../../types/review.js";
import type { Transaction } from "../../types/transaction.js";
import { invalidType, invalidValue } from "../errors.js";
import { expectFields, type FieldsOf } from "../fields.js";
import { BubblewrapNativeRunner } from "../runners/bubblewrap.js";
import { membershipOf } from "../runners/transactions/membership.js";
import type { ShownBranch, TestsOfBranch } from "./branches.js";
import { expectPort, ReviewPage } from "./review-page.js";

export type { ReviewComment, ReviewCommentEvent } from "../../types/review.js";

/** A branch beside the transaction that is reviewed. */
export type ReviewBranch = {
  /** Another open transaction of the same workspace and process. The page changes nothing in it, and does not close it. */
  transaction: Transaction;
  /** The page's name for it, of 1 to 100 characters. Default: its id. */
  name?: string | undefined;
  /** The result of its tests. Default: none is shown. */
  tests?: "passed" | "failed" | undefined;
};

/** Options of {@link serveReview}. */
export type ReviewOptions = {
  /** The transaction to review; commands may keep running in it. The page does not close it. */
  transaction: Transaction;
  /** The runner of the transaction, which reads the host's files. */
  runner: BubblewrapNativeRunner;
  /** Port on 127.0.0.1, 0 to 65535. Default 0: any free port. */
  port?: number | undefined;
  /**
   * Branches to choose from, at most 16, each shown as a column. A person takes one whole, which the transaction then
   * adopts, or some of its files, which are merged into the transaction; then the transaction is committed as ever.
   * Default none.
   */
  branches?: readonly ReviewBranch[] | undefined;
  /** The page's name for the workspace. Default: none. */
  workspace?: string | undefined;
  /** True offers `undo` from the start, since the transaction was committed before. Default false. */
  canUndo?: boolean | undefined;
  /** True if commands may keep running in it; affects only the page's texts. Default true. */
  isLive?: boolean | undefined;
  /** The approver in the record of the page's commits. Default none. */
  approvedBy?: string | undefined;
  /** Called after each commit, undo or discard on the page; must not throw. */
  onSettled?: ((state: "open" | "discarded" | "closed") => void) | undefined;
  /**
   * Called after each branch that a person has taken, wholly, or with `paths` in part; must not throw. It may be taken
   * back afterwards.
   */
  onTaken?: ((branch: Transaction, paths: readonly string[] | undefined) => void) | undefined;
  /**
   * Called after each new, changed or deleted comment, also when a comment becomes outdated, or is no longer; must not
   * throw.
   */
  onComment?: ((comment: ReviewComment, event: ReviewCommentEvent) => void) | undefined;
};

/** A page that is being served. */
export type ServedReview = AsyncDisposable & {
  /** The page's address with its token: a client that knows it may commit, undo and discard. */
  readonly url: string;
  /**
   * Resolves with the comments in the order in which they were written, each a frozen copy. Their lines are compared
   * with the files as they are now. They last until the page is closed; those of a transaction that is over stay as they
   * were.
   */
  comments(): Promise<readonly ReviewComment[]>;
  /** Closes the page; the transaction stays as it is. */
  close(): Promise<void>;
};

const kOptions: FieldsOf<ReviewOptions> = {
  transaction: true,
  runner: true,
  branches: true,
  onTaken: true,
  port: true,
  workspace: true,
  canUndo: true,
  isLive: true,
  approvedBy: true,
  onSettled: true,
  onComment: true,
};

/**
 * Serves a page on which a person sees a transaction's changes, and commits, undoes or discards them. It is reachable
 * only on 127.0.0.1 through the address with its token, and not by other pages in the browser. The page is live:
 * commands may keep running in the transaction.
 *
 * @throws (rejects) TypeError on a wrong option; SandboxError ERR_SANDBOX_UNAVAILABLE if the package was built without
 * its page; an Error of `node:net` if the port is not available
 * @example
 * const review = await serveReview({ transaction, runner });
 * console.log(review.url);
 */
export async function serveReview(options: ReviewOptions): Promise<ServedReview> {
  expectFields(options, "options", kOptions);
  const { transaction, runner, workspace = "", approvedBy } = options;
  const { canUndo = false, isLive = true, onSettled = () => {}, onComment = () => {} } = options;
  const { onTaken = () => {} } = options;
  const port = options.port ?? 0;
  expectPort("port", port);
  membershipOf(transaction, "transaction");
  if (!(runner instanceof BubblewrapNativeRunner)) {
    throw invalidType("runner", "a BubblewrapNativeRunner", runner);
  }
  if (typeof workspace !== "string") throw invalidType("workspace", "a string", workspace);
  expectFunction("onSettled", onSettled);
  expectFunction("onComment", onComment);
  expectFunction("onTaken", onTaken);
  const branches = await branchesOf(options.branches ?? [], transaction);
  const page = new ReviewPage({ runner, port, workspace, isLive, approvedBy, onComment });
  const onPage = (state: Parameters<typeof onSettled>[0]) => onSettled(state);
  await page.show({ transaction, canUndo, onSettled: onPage, branches, onTaken });
  const close = () => page.close();
  const comments = () => page.comments();
  return { url: page.url, comments, close, [Symbol.asyncDispose]: close };
}

const kMostBranches = 16;
const kMostName = 100;
const kTests: readonly unknown[] = ["passed", "failed", undefined] satisfies (
  | TestsOfBranch
  | undefined
)[];
const kBranch: FieldsOf<ReviewBranch> = { transaction: true, name: true, tests: true };

/** @throws (rejects) TypeError that names the field */
async function branchesOf(
  given: readonly ReviewBranch[],
  target: Transaction,
): Promise<ShownBranch[]> {
  if (!Array.isArray(given)) throw invalidType("branches", "an array", given);
  if (given.length > kMostBranches) {
    throw invalidValue(`Expected at most ${kMostBranches} \`branches\`, got ${given.length}`);
  }
  const ids = new Set([target.id]);
  const workspace = await realpath(membershipOf(target, "transaction").workspace);
  const shown: ShownBranch[] = [];
  for (const [at, branch] of given.entries()) {
    const field = `branches[${at}]`;
    expectFields(branch, field, kBranch);
    const { transaction, tests } = branch;
    const its = membershipOf(transaction, `${field}.transaction`);
    if ((await realpath(its.workspace)) !== workspace) {
      throw invalidValue(`${field}.transaction: ${transaction.id} is of another workspace`);
    }
    if (ids.has(transaction.id)) {
      throw invalidValue(`${field}.transaction: ${transaction.id} is on the page already`);
    }
    ids.add(transaction.id);
    const name = branch.name ?? transaction.id;
    if (typeof name !== "string") throw invalidType(`${field}.name`, "a string", name);
    if (name === "" || name.length > kMostName) {
      throw invalidValue(`Expected \`${field}.name\` to have 1 to ${kMostName} characters`);
    }
    if (!kTests.includes(tests)) {
      throw invalidValue(`Expected \`${field}.tests\` to be "passed" or "failed", got ${tests}`);
    }
    shown.push({ transaction, name, tests });
  }
  return shown;
}

function expectFunction(name: string, value: unknown): void {
  if (typeof value !== "function") throw invalidType(name, "a function", value);
}
