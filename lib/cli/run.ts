import type { Transaction } from "../../types/transaction.js";
import type { AuditLog } from "../audit-log/audit-log.js";
import { recorded } from "./audit/audit-option.js";
import { chooseRunner } from "./choose-runner.js";
import { deniedConnections } from "./denied-connections.js";
import { type CliOptions, execInput } from "./options.js";
import { endReason, truncations } from "./reason.js";
import { resultJson } from "./result-json.js";
import { SetupLine } from "./setup-line.js";
import { checkCommand } from "./shell-lists.js";
import { printError, readStdin, watchOutput } from "./terminal.js";
import { openFor } from "./transactions/open.js";
import { settle } from "./transactions/settle.js";
import { checkMounts, checkWorkspace } from "./workspace.js";

const kSignals = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

/**
 * `native-runner run`: streams the output through (or prints the result as JSON), then sets the
 * process's exit code to the result's. The first SIGINT, SIGTERM or SIGHUP, and a reader that goes
 * away, abort the run. With --transaction, what it has changed is then settled.
 */
export async function run(command: string[], options: CliOptions): Promise<void> {
  await recorded(options, (auditLog) => runRecorded(command, options, auditLog));
}

async function runRecorded(
  command: string[],
  options: CliOptions,
  auditLog: AuditLog | undefined,
): Promise<void> {
  const interrupt = new AbortController();
  let transaction: Transaction | undefined;
  let outputLost = false;
  watchOutput(() => {
    outputLost = true;
    interrupt.abort();
  });
  const onSignal = () => interrupt.abort();
  for (const name of kSignals) process.once(name, onSignal);

  try {
    checkWorkspace(options);
    checkMounts(options);
    const chosen = await chooseRunner(options, process.env, { auditLog });
    checkCommand(command, chosen.policy.config.security);
    const stdin = options.stdin ? await readStdin(interrupt.signal) : undefined;
    const stderr = new SetupLine((chunk) => process.stderr.write(chunk));
    transaction = await openFor(chosen.runner, options);
    const result = await (transaction ?? chosen.runner).exec({
      ...execInput(command, options),
      stdin,
      signal: interrupt.signal,
      onStdout: options.json ? undefined : (chunk) => process.stdout.write(chunk),
      onStderr: options.json ? undefined : (chunk) => stderr.add(chunk),
    });
    stderr.end(result.outcome.kind === "setup-failed" ? result.outcome.reason : undefined);
    process.exitCode ??= result.exitCode;
    if (!outputLost) {
      for (const reason of truncations(result)) printError(reason.message);
      const reason = endReason(result, options);
      const denied = process.stderr.isTTY && !options.json ? deniedConnections(result) : [];
      if (denied.length > 0) printError(["the network refused:", ...denied].join("\n  "));
      if (reason) printError(reason.said && !options.json ? undefined : reason.message, reason.fix);
    }
    const opened = transaction;
    transaction = undefined; // from here on it is settled, and never lost
    const settled = opened && (await settle(opened, result, options, interrupt.signal));
    if (options.json) process.stdout.write(`${resultJson(result, settled)}\n`);
  } finally {
    await transaction?.discard(); // it could not even be begun
    for (const name of kSignals) process.removeListener(name, onSignal);
  }
}
