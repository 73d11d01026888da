/** The page at one address, which shows one transaction after the other; the comments go with it. */

import { randomBytes } from "node:crypto";
import { subscribe, unsubscribe } from "node:diagnostics_channel";

import type { RunEndMessage } from "../../types/metrics.js";
import type { ReviewComment, ReviewCommentEvent } from "../../types/review.js";
import type { Transaction } from "../../types/transaction.js";
import { invalidValue } from "../errors.js";
import type { BubblewrapNativeRunner } from "../runners/bubblewrap.js";
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
};

export class ReviewPage {
  readonly #options: PageOptions;
  readonly #comments: Comments;
  #review: Review | undefined;
  #server: ReviewServer | undefined;
  #id = "";

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
  async show({ transaction, canUndo, onSettled }: Shown): Promise<void> {
    const { runner, workspace, isLive, approvedBy, port } = this.#options;
    const comments = this.#comments;
    const review = new Review({ transaction, host: runner.files, approvedBy, canUndo, comments });
    const { id, backend } = transaction;
    const facts = { id, workspace, backend, isLive };
    if (this.#server === undefined) {
      await expectPage();
      const token = randomBytes(kTokenBytes).toString("base64url");
      const server = new ReviewServer(review, facts, token);
      await server.listen(port);
      this.#server = server;
      subscribe(kRunEnd, this.#ended);
    } else this.#server.show(review, facts);
    this.#review = review;
    this.#id = id;
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
    if ((message as RunEndMessage).audit?.transaction !== this.#id) return;
    this.#server?.ranCommand();
    if (this.#comments.size > 0) void this.comments(); // tells which ones are outdated now
  };
}
