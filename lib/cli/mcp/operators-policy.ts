/** What the command line of `native-runner mcp` lets a model do. */

import type { Denial } from "../../../types/denials.js";
import type { NetworkRequest } from "../../../types/network.js";
import type { AuditLog } from "../../audit-log/audit-log.js";
import type { HostQuestions } from "../../mcp/host-questions.js";
import type { Commands, SandboxPolicy } from "../../mcp/sandbox.js";
import { recordGrants } from "../audit/record-grants.js";
import { chooseRunner } from "../choose-runner.js";
import { limits } from "../options.js";
import { checkLine } from "../shell-lists.js";
import { withGrants } from "../why/with-grants.js";
import { checkMounts, checkWorkspace } from "../workspace.js";
import type { McpOptions } from "./mcp.js";
import { expectTransactions, openTransaction } from "./open-transaction.js";

/** The policy, and what ends the runners behind it. */
export type OperatorsPolicy = { sandbox: SandboxPolicy; close(): Promise<void> };

/**
 * @param auditLog where all of it is recorded; undefined: nowhere.
 * @throws (rejects) as `run` does for the same options.
 */
export async function operatorsPolicy(
  options: McpOptions,
  auditLog: AuditLog | undefined,
): Promise<OperatorsPolicy> {
  const own = { ...options, stdin: false };
  const workspace = checkWorkspace(own);
  checkMounts(own);
  let hosts: HostQuestions | undefined;
  const onRequest = async (request: NetworkRequest) => {
    if (hosts === undefined) throw new Error("nobody can be asked yet");
    return hosts.decide(request);
  };
  const { runner: chosen, policy } = await chooseRunner(own, process.env, { onRequest, auditLog });
  const runner = expectTransactions(chosen);
  let isFirst = true;
  let granted = own;
  const sandbox: SandboxPolicy = {
    workspace,
    limits: limits(own),
    cwd: own.cwd,
    env: Object.fromEntries(own.env ?? []),
    allowProtected: own.allowProtected,
    open: async () => {
      const { resume, ...place } = options;
      const transaction = await openTransaction(runner, workspace, isFirst ? options : place);
      isFirst = false;
      return transaction;
    },
    useHosts: (asked) => {
      hosts = asked;
    },
    check: (line) => {
      checkLine(line, policy.config.security);
    },
    grant: async (transaction, denials: readonly Denial[]): Promise<Commands> => {
      const wider = withGrants(granted, denials);
      checkMounts(wider);
      const made = await chooseRunner(wider, process.env, { transaction, onRequest, auditLog });
      granted = wider;
      recordGrants(auditLog, denials, { approvedBy: "the person at the client", scope: "session" });
      return expectTransactions(made.runner);
    },
  };
  return { sandbox, close: () => runner.close() };
}
