/** What the page's server tells, as lib/review has it. */

import type { Hunk, ReviewChange, ReviewRun } from "../../lib/review/review.js";

export type { Hunk, ReviewChange, ReviewRun };

/** Of the transaction itself. */
export type Facts = {
  id: string;
  workspace: string;
  backend: "overlay" | "copy";
  state: "open" | "discarded" | "closed";
  canUndo: boolean;
  isLive: boolean;
  revision: number;
};

/** Why something was not done. */
export class Refusal extends Error {
  readonly code: string;
  readonly paths: readonly string[];

  constructor(code: string, message: string, paths: readonly string[]) {
    super(message);
    this.code = code;
    this.paths = paths;
  }
}
