/** Data of the page's server, with the types of lib/review. */

import type { LineCounts, SentBranch } from "../../lib/review/branches.js";
import type { Hunk, ReviewChange as SentChange } from "../../lib/review/review.js";
import type { ReviewRun } from "../../lib/review/runs.js";
import type { ReviewComment } from "../../types/review.js";

export type { Hunk, LineCounts, ReviewComment, ReviewRun, SentBranch };

/** A change; `branch`: the id of the branch that it is of. Default: the transaction's own. */
export type ReviewChange = SentChange & { branch?: string };

/** The state of the transaction. */
export type Facts = {
  id: string;
  workspace: string;
  backend: "overlay" | "copy";
  state: "open" | "discarded" | "closed";
  canUndo: boolean;
  isLive: boolean;
  revision: number;
  /** How many branches there are to choose from. */
  branches: number;
};

/** An error answer of the server. */
export class Refusal extends Error {
  readonly code: string;
  readonly paths: readonly string[];

  constructor(code: string, message: string, paths: readonly string[]) {
    super(message);
    this.code = code;
    this.paths = paths;
  }
}
