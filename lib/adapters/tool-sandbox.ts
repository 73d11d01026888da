/** The sandbox behind adapters, made from what a host application has. */

import { realpathSync } from "node:fs";

import type { NativeLimits } from "../../types/public.js";
import type { TransactionOptions } from "../../types/transaction-options.js";
import { expectFields, type FieldsOf } from "../fields.js";
import { type SandboxPolicy, ToolSandbox } from "../mcp/sandbox.js";
import type { BubblewrapNativeRunner } from "../runners/bubblewrap.js";

/** What tools may do. A model can take away from it, and never add. */
export type SandboxToolsOptions = {
  /** Its policy is that of all commands, its `shadowDir` the workspace. It stays the caller's to close. */
  runner: BubblewrapNativeRunner;
  /** How the transaction is opened that commands work in. */
  transaction?: TransactionOptions | undefined;
  /** Of each command; `timeoutMs` is the most that a call may ask for. */
  limits?: NativeLimits | undefined;
  /** Where commands start, relative to the workspace. Default: its root. */
  cwd?: string | undefined;
  /** Variables for all commands. */
  env?: Record<string, string> | undefined;
  /** Protected paths that a commit may change. Default none. */
  allowProtected?: readonly string[] | undefined;
  /** What a commit's record says of who has approved it. Default: the client's name. */
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

/** @throws TypeError on a wrong option; Error where the runner's workspace is missing. */
export function toolSandboxOf(options: SandboxToolsOptions): ToolSandbox {
  expectFields(options, "options", kOptions);
  const { runner, transaction, ...rest } = options;
  const policy: SandboxPolicy = {
    ...rest,
    workspace: realpathSync(runner.shadowDir),
    open: () => runner.openTransaction(transaction),
  };
  return new ToolSandbox(policy);
}
