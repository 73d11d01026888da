import type { Transaction } from "../../../types/transaction.js";
import { BubblewrapNativeRunner } from "../../runners/bubblewrap.js";
import type { RuntimeRunner } from "../../runtime/runtime.js";
import { CliError, printError } from "../terminal.js";
import {
  directoryOption,
  findTransaction,
  type PlaceOptions,
} from "../transactions/transaction-place.js";
import { kLatest } from "./mcp-command.js";

export type ResumeOptions = PlaceOptions & { resume?: string };

/** The runner, which has to be one that has transactions. @throws CliError */
export function expectTransactions(runner: RuntimeRunner): BubblewrapNativeRunner {
  if (runner instanceof BubblewrapNativeRunner) return runner;
  throw new CliError("mcp needs Bubblewrap, for its transactions", 2, "name --runtime bubblewrap");
}

async function idToResume(
  runner: BubblewrapNativeRunner,
  workspace: string,
  options: ResumeOptions,
): Promise<string | undefined> {
  const { resume } = options;
  if (resume === undefined) return undefined;
  if (resume !== kLatest) return (await findTransaction(resume, options)).id;
  const waiting = (await runner.transactions(directoryOption(options))).filter(
    (listed) => listed.workspace === workspace && listed.state === "closed",
  );
  return waiting.at(-1)?.id; // the oldest is first
}

/**
 * The transaction that `--resume` names, or a new one.
 * @throws (rejects) as `openTransaction` and `resumeTransaction`.
 */
export async function openTransaction(
  runner: BubblewrapNativeRunner,
  workspace: string,
  options: ResumeOptions,
): Promise<Transaction> {
  const id = await idToResume(runner, workspace, options);
  if (id === undefined) return runner.openTransaction(directoryOption(options));
  const transaction = await runner.resumeTransaction(id, directoryOption(options));
  printError(`goes on in transaction ${id}`);
  return transaction;
}
