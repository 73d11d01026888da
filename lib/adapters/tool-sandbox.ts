/** The sandbox behind the adapters, made from a host application's runner. */

import { realpathSync } from "node:fs";
import { resolve } from "node:path";

import type { NativeLimits } from "../../types/public.js";
import type { TransactionOptions } from "../../types/transaction-options.js";
import { invalidType } from "../errors.js";
import { expectFields, type FieldsOf } from "../fields.js";
import { type SandboxPolicy, ToolSandbox } from "../mcp/sandbox.js";
import { expectPort } from "../review/review-page.js";
import { SandboxReview } from "../review/sandbox-review.js";
import type { BubblewrapNativeRunner } from "../runners/bubblewrap.js";
import { stateDirectoryWords } from "../text.js";

/** Options of the sandbox's tools. A model can narrow them, and never widen them. */
export type SandboxToolsOptions = {
  /** Its policy applies to all commands; its `shadowDir` is the workspace. The application closes it. */
  runner: BubblewrapNativeRunner;
  /** Options of the transaction in which commands run. */
  transaction?: TransactionOptions | undefined;
  /** Limits of each command; a call may request at most its `timeoutMs`. */
  limits?: NativeLimits | undefined;
  /** Directory in which commands start, relative to the workspace. Default: its root. */
  cwd?: string | undefined;
  /** Variables for all commands. */
  env?: Record<string, string> | undefined;
  /** Protected paths that a commit may change. Default none. */
  allowProtected?: readonly string[] | undefined;
  /** The approver in a commit's record. Default: the client's name. */
  approvedBy?: string | undefined;
  /**
   * Serves the review page beside the tools, from the first call on: a person sees, commits and discards the changes
   * there, and writes comments, which the tools tell the model of. Default: none.
   */
  review?: ToolReviewOptions | undefined;
};

/** Options of the review page beside the tools. */
export type ToolReviewOptions = {
  /** Port on 127.0.0.1, 0 to 65535. Default 0: any free port. */
  port?: number | undefined;
  /** Called once with the page's address, whose token allows commits: it is not for the model. */
  onServed: (url: string) => void;
};

const kOptions: FieldsOf<SandboxToolsOptions> = {
  runner: true,
  transaction: true,
  limits: true,
  cwd: true,
  env: true,
  allowProtected: true,
  approvedBy: true,
  review: true,
};
const kReview: FieldsOf<ToolReviewOptions> = { port: true, onServed: true };

/** @throws TypeError on a wrong option; Error if the runner's workspace does not exist */
export function toolSandboxOf(options: SandboxToolsOptions): ToolSandbox {
  expectFields(options, "options", kOptions);
  const { runner, transaction, review, ...rest } = options;
  const workspace = realpathSync(runner.shadowDir);
  const policy: SandboxPolicy = {
    ...rest,
    workspace,
    review: review && reviewOf(review, runner, workspace),
    open: () => runner.openTransaction(transaction),
    place: stateDirectoryWords(transaction?.directory && resolve(transaction.directory)),
  };
  return new ToolSandbox(policy);
}

function reviewOf(
  options: ToolReviewOptions,
  runner: BubblewrapNativeRunner,
  workspace: string,
): SandboxReview {
  expectFields(options, "options.review", kReview);
  const { port = 0, onServed } = options;
  expectPort("options.review.port", port);
  if (typeof onServed !== "function") {
    throw invalidType("options.review.onServed", "a function", onServed);
  }
  const approvedBy = "a person, on the review page";
  return new SandboxReview({ runner, port, workspace, approvedBy, onServed });
}
