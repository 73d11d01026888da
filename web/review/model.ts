/** Data of the page's server, with the types of lib/review. */

import type { Hunk, ReviewChange } from "../../lib/review/review.js";
import type { ReviewRun } from "../../lib/review/runs.js";
import type { ReviewComment } from "../../types/review.js";

export type { Hunk, ReviewChange, ReviewComment, ReviewRun };

/** The state of the transaction. */
export type Facts = {
  id: string;
  workspace: string;
  backend: "overlay" | "copy";
  state: "open" | "discarded" | "closed";
  canUndo: boolean;
  isLive: boolean;
  revision: number;
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
