/** The review page beside the tools of an agent. */

import type { ReviewComment } from "../../types/review.js";
import type { Transaction } from "../../types/transaction.js";
import type { BubblewrapNativeRunner } from "../runners/bubblewrap.js";
import { ReviewPage } from "./review-page.js";

export type SandboxReviewOptions = {
  runner: BubblewrapNativeRunner;
  /** 0: any free port. */
  port: number;
  workspace: string;
  approvedBy: string | undefined;
  /** Called with the address when the page can be opened; whoever knows it may commit. */
  onServed(url: string): void;
};

/** A page that follows the sandbox from one transaction to the next, at the same address. */
export class SandboxReview {
  readonly #page: ReviewPage;
  readonly #watching = new Set<() => void>();
  readonly #onServed: (url: string) => void;

  constructor({ onServed, ...options }: SandboxReviewOptions) {
    this.#onServed = onServed;
    this.#page = new ReviewPage({
      ...options,
      isLive: true,
      onComment: () => {
        for (const onChange of this.#watching) onChange();
      },
    });
  }

  async show(
    transaction: Transaction,
    onSettled: (state: "open" | "discarded" | "closed", canUndo: boolean) => void,
  ): Promise<void> {
    const isFirst = this.#page.url === "";
    await this.#page.show({ transaction, canUndo: false, onSettled });
    if (isFirst) this.#onServed(this.#page.url);
  }

  comments(): Promise<readonly ReviewComment[]> {
    return this.#page.comments();
  }

  watch(onChange: () => void): () => void {
    this.#watching.add(onChange);
    return () => this.#watching.delete(onChange);
  }

  close(): Promise<void> {
    return this.#page.close();
  }
}
