/** A page with branches beside its transaction. */

import { onTestFinished } from "vitest";

import { type ReviewOptions, serveReview } from "../../../lib/review/serve-review.js";
import type { Transaction } from "../support/package.js";
import { run } from "../support/results.js";
import { openTransaction } from "../support/transactions.js";
import type { Served } from "./review-server.js";

/**
 * Makes a branch with each of the changes; the first ones have a name, and tests that passed, and failed. All end with
 * the test.
 */
export async function servedBranches(
  workspace: string,
  changes: readonly string[],
  options: Pick<ReviewOptions, "onTaken"> = {},
): Promise<Served & { branches: Transaction[] }> {
  const opened = await openTransaction(workspace);
  const { transaction, runner } = opened;
  const branches = await transaction.fork({ count: changes.length });
  await Promise.all(branches.map((branch, at) => run(branch, changes[at] ?? "")));
  const review = await serveReview({
    transaction,
    runner,
    workspace: opened.workspace,
    branches: branches.map((branch, at) => ({
      transaction: branch,
      ...(at < 2 && { name: `way ${at + 1}`, tests: at === 0 ? "passed" : "failed" }),
    })),
    ...options,
  });
  onTestFinished(async () => {
    await review.close();
    await runner.close();
  });
  return { ...opened, review, base: new URL(review.url), branches };
}
