/** The branches beside a transaction under review: each is shown as a column, and can be taken, whole or in part. */

import type { MergeOptions, Transaction } from "../../types/transaction.js";
import { ReviewFailure } from "./failure.js";
import type { Review, ReviewState } from "./review.js";

/** The result of a branch's tests, as the host has found it. */
export type TestsOfBranch = "passed" | "failed";

/** A branch to be shown. */
export type ShownBranch = {
  transaction: Transaction;
  name: string;
  tests: TestsOfBranch | undefined;
};

/** A branch in the form sent to the page. */
export type SentBranch = {
  id: string;
  name: string;
  tests?: TestsOfBranch;
  state: ReviewState;
};

/** Lines that a branch adds and removes. */
export type LineCounts = { added: number; removed: number };

/** The page's request for a branch: all of it, or what is at some paths. */
export type TakeWish = {
  branch: string;
  /** As the page has shown it. */
  revision: number;
  /** Default: the whole branch, whose files take the place of the transaction's own. */
  paths?: string[] | undefined;
  onConflict?: "fail" | "theirs" | undefined;
};

/** Called after each branch that a person has taken, wholly or in part. */
export type OnTaken = (branch: Transaction, paths: readonly string[] | undefined) => void;

type Known = ShownBranch & {
  review: Review;
  /** The counts, and the revision that they are of. */
  lines?: { revision: number; counts: LineCounts | undefined };
};

type Parts = {
  /** The transaction that takes what is chosen. */
  target: Transaction;
  branches: readonly ShownBranch[];
  /** Makes the review of a branch. */
  reviewOf(transaction: Transaction): Review;
  onTaken: OnTaken;
};

export class ReviewBranches {
  readonly #target: Transaction;
  readonly #known: ReadonlyMap<string, Known>;
  readonly #onTaken: OnTaken;
  /** Checkpoints of the target, each from before something was taken. */
  readonly #before: string[] = [];

  constructor({ target, branches, reviewOf, onTaken }: Parts) {
    this.#target = target;
    this.#onTaken = onTaken;
    this.#known = new Map(
      branches.map((branch) => [
        branch.transaction.id,
        { ...branch, review: reviewOf(branch.transaction) },
      ]),
    );
  }

  get size(): number {
    return this.#known.size;
  }

  /** True if what was taken last can be taken back. */
  get canTakeBack(): boolean {
    return this.#before.length > 0;
  }

  has(id: string): boolean {
    return this.#known.has(id);
  }

  list(): SentBranch[] {
    return [...this.#known].map(([id, { name, tests, review }]) => ({
      id,
      name,
      ...(tests && { tests }),
      state: review.state,
    }));
  }

  /** @throws ReviewFailure if there is no such branch */
  review(id: string): Review {
    return this.#find(id).review;
  }

  /**
   * Returns the lines that a branch adds and removes against the host's files; undefined where they are too many to be
   * counted.
   * @throws (rejects) ReviewFailure; as `Transaction.changes`
   */
  async lines(id: string): Promise<LineCounts | undefined> {
    const known = await this.#lookAt(id);
    const { revision } = known.review;
    if (known.lines?.revision !== revision) {
      const counts = await linesOf(known.transaction);
      known.lines = { revision, counts };
    }
    return known.lines.counts;
  }

  /** True if a branch has changed since it was last looked at. */
  async hasChanged(): Promise<boolean> {
    let hasChanged = false;
    for (const { review } of this.#known.values()) {
      const state = review.state;
      hasChanged = (await review.hasChanged().catch(() => false)) || hasChanged;
      hasChanged ||= review.state !== state;
    }
    return hasChanged;
  }

  /**
   * Makes the target's files those of a branch, or merges some of them, if it is as the page has shown it. What the
   * target was before is kept: see {@link takeBack}.
   * @throws (rejects) ReviewFailure; as `Transaction.merge` and `Transaction.checkpoint`: then nothing was taken
   */
  async take({ branch, revision, paths, onConflict = "fail" }: TakeWish): Promise<string[]> {
    const { transaction, review, name } = await this.#lookAt(branch);
    if (review.revision !== revision) {
      const message = "nothing was taken: the branch was changed after you had seen it. Look again";
      throw new ReviewFailure(409, "ERR_REVIEW_BRANCH_CHANGED", message);
    }
    const { id } = await this.#target.checkpoint(`before ${name} was taken`.slice(0, kMostName));
    const options: MergeOptions = { onConflict, ...(paths && { paths }) };
    const { merged } =
      paths === undefined
        ? await this.#target.adopt(transaction)
        : await this.#target.merge(transaction, options);
    this.#before.push(id);
    this.#onTaken(transaction, paths);
    return merged;
  }

  /**
   * Makes the target what it was before the last {@link take}.
   * @throws (rejects) ReviewFailure if nothing was taken; as `Transaction.rollback`
   */
  async takeBack(): Promise<void> {
    const id = this.#before.at(-1);
    if (id === undefined) {
      throw new ReviewFailure(409, "ERR_REVIEW_NOTHING_TAKEN", "nothing was taken from a branch");
    }
    await this.#target.rollback(id);
    this.#before.pop();
  }

  /** Returns a branch that is open, once its changes are known as they are now. */
  async #lookAt(id: string): Promise<Known> {
    const known = this.#find(id);
    const { review, name } = known;
    try {
      await review.hasChanged();
    } catch (error) {
      if (review.state === "open") throw error;
    }
    if (review.state === "open") return known;
    throw new ReviewFailure(410, "ERR_REVIEW_OVER", `the branch ${name} was ${review.state}`);
  }

  #find(id: string): Known {
    const known = this.#known.get(id);
    if (known !== undefined) return known;
    throw new ReviewFailure(404, "ERR_REVIEW_NO_BRANCH", "branch: there is no such branch");
  }
}

const kMostName = 256;

/** Characters of a patch that are looked at before other work of the host goes on. */
const kCharacters = 256 * 1024;

/** Counts the lines of a transaction's patch, of at most 16 MiB. */
async function linesOf(transaction: Transaction): Promise<LineCounts | undefined> {
  const patch = await transaction.diff().catch(() => undefined); // larger than that, or unreadable
  if (patch === undefined) return undefined;
  const counts = { added: 0, removed: 0 };
  let isHunk = false;
  let last = 0;
  for (let at = 0; at < patch.length; ) {
    if (at - last > kCharacters) {
      last = at;
      await new Promise((resolve) => setTimeout(resolve));
    }
    const first = patch[at];
    if (first === "@") isHunk = true;
    else if (first === "d")
      isHunk = false; // "diff --git": a hunk's lines begin with one of " +-\"
    else if (isHunk && first === "+") counts.added += 1;
    else if (isHunk && first === "-") counts.removed += 1;
    const end = patch.indexOf("\n", at);
    at = end < 0 ? patch.length : end + 1;
  }
  return counts;
}
