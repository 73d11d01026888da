/** The sandbox behind the adapters, made from a host application's runner. */

import { realpathSync } from "node:fs";
import { resolve } from "node:path";

import type { NativeLimits } from "../../types/public.js";
import type { TransactionOptions } from "../../types/transaction-options.js";
import { expectFields, type FieldsOf } from "../fields.js";
import { type SandboxPolicy, ToolSandbox } from "../mcp/sandbox.js";
import type { BubblewrapNativeRunner } from "../runners/bubblewrap.js";
import { shellQuote } from "../text.js";

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
};

const kOptions: FieldsOf<SandboxToolsOptions> = {
  runner: true,
  transaction: true,
  limits: true,
  cwd: true,
  env: true,
  allowProtected: true,
  approvedBy: true,
};

/** @throws TypeError on a wrong option; Error if the runner's workspace does not exist */
export function toolSandboxOf(options: SandboxToolsOptions): ToolSandbox {
  expectFields(options, "options", kOptions);
  const { runner, transaction, ...rest } = options;
  const policy: SandboxPolicy = {
    ...rest,
    workspace: realpathSync(runner.shadowDir),
    open: () => runner.openTransaction(transaction),
    place:
      transaction?.directory === undefined
        ? ""
        : ` --state-directory ${shellQuote(resolve(transaction.directory))}`,
  };
  return new ToolSandbox(policy);
}
