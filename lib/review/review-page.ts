/** The page at one address, which shows one transaction after the other; the comments go with it. */

import { randomBytes } from "node:crypto";
import { subscribe, unsubscribe } from "node:diagnostics_channel";

import type { RunEndMessage } from "../../types/metrics.js";
import type { ReviewComment, ReviewCommentEvent } from "../../types/review.js";
import type { Transaction } from "../../types/transaction.js";
import { invalidValue } from "../errors.js";
import type { BubblewrapNativeRunner } from "../runners/bubblewrap.js";
import { type OnTaken, ReviewBranches, type ShownBranch } from "./branches.js";
import { Comments } from "./comments.js";
import { Review, type ReviewState } from "./review.js";
import { expectPage, ReviewServer } from "./review-server.js";

const kRunEnd = "@openagentic/native-runner:run.end";
const kTokenBytes = 32;
const kMostPort = 65_535;

/** @throws TypeError that names the option */
export function expectPort(name: string, port: unknown): void {
  if (Number.isInteger(port) && Number(port) >= 0 && Number(port) <= kMostPort) return;
  throw invalidValue(`Expected \`${name}\` to be an integer from 0 to ${kMostPort}, got ${port}`);
}

/** Options that hold for as long as the page is served. */
export type PageOptions = {
  runner: BubblewrapNativeRunner;
  /** 0: any free port. */
  port: number;
  workspace: string;
  isLive: boolean;
  approvedBy: string | undefined;
  /** Called after each change of a comment. */
  onComment(comment: ReviewComment, event: ReviewCommentEvent): void;
};

/** A transaction to be shown. */
export type Shown = {
  transaction: Transaction;
  canUndo: boolean;
  /** Called after each commit, undo or discard on the page; `canUndo`: there is a commit that can be undone. */
  onSettled(state: ReviewState, canUndo: boolean): void;
  /** Branches to choose from, beside the transaction. Default none. */
  branches?: readonly ShownBranch[];
  /** Called after each branch that was taken. */
  onTaken?: OnTaken;
};

export class ReviewPage {
  readonly #options: PageOptions;
  readonly #comments: Comments;
  #review: Review | undefined;
  #server: ReviewServer | undefined;
  #ids: ReadonlySet<string> = new Set();

  constructor(options: PageOptions) {
    this.#options = options;
    this.#comments = new Comments((comment, event) => {
      this.#server?.commented();
      setImmediate(() => options.onComment(comment, event)); // the request is answered before
    });
  }

  /** The page's address, with its token; "" before the first transaction is shown. */
  get url(): string {
    return this.#server?.url ?? "";
  }

  /**
   * Shows a transaction. The first call starts the server.
   * @throws (rejects) SandboxError if the package was built without its page; an Error of `node:net`
   */
  async show(shown: Shown): Promise<void> {
    const { transaction, canUndo, onSettled, branches = [], onTaken = () => {} } = shown;
    const { runner, workspace, isLive, approvedBy, port } = this.#options;
    const comments = this.#comments;
    const host = runner.files;
    const reviewOf = (branch: Transaction) =>
      new Review({ transaction: branch, host, approvedBy, canUndo: false, comments });
    const review = new Review({ transaction, host, approvedBy, canUndo, comments });
    const columns = new ReviewBranches({ target: transaction, branches, reviewOf, onTaken });
    const { id, backend } = transaction;
    const facts = { id, workspace, backend, isLive };
    if (this.#server === undefined) {
      await expectPage();
      const token = randomBytes(kTokenBytes).toString("base64url");
      const server = new ReviewServer(review, columns, facts, token);
      await server.listen(port);
      this.#server = server;
      subscribe(kRunEnd, this.#ended);
    } else this.#server.show(review, columns, facts);
    this.#review = review;
    this.#ids = new Set([id, ...branches.map((each) => each.transaction.id)]);
    this.#server.watch(() => onSettled(review.state, review.canUndo));
  }

  async comments(): Promise<readonly ReviewComment[]> {
    return (await this.#review?.comments()) ?? [];
  }

  async close(): Promise<void> {
    unsubscribe(kRunEnd, this.#ended);
    await this.#server?.close();
  }

  readonly #ended = (message: unknown) => {
    if (!this.#ids.has((message as RunEndMessage).audit?.transaction ?? "")) return;
    this.#server?.ranCommand();
    if (this.#comments.size > 0) void this.comments(); // tells which ones are outdated now
  };
}
