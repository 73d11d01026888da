/** The grammar of `native-runner tx`. Parsing only. */

import type { Command, OutputConfiguration } from "commander";

import { withAuditOption } from "../audit/audit-option.js";
import { directory, path } from "../values/option-values.js";
import type { TxCommitOptions, TxOptions, TxPathOptions } from "./tx.js";

/** What the commands do. */
export type TxActions = {
  txList(options: TxOptions): Promise<void>;
  txShow(id: string, options: TxPathOptions): Promise<void>;
  txDiff(id: string, options: TxPathOptions): Promise<void>;
  txCommit(id: string, options: TxCommitOptions): Promise<void>;
  txUndo(id: string, options: TxOptions): Promise<void>;
  txDiscard(id: string, options: TxOptions): Promise<void>;
};

/** An option that `run` and all of these have. */
export function withStateDirectory(command: Command): Command {
  return command.option(
    "--state-directory <dir>",
    "where transactions are kept; default: openagentic/transactions in $XDG_STATE_HOME or ~/.local/state",
    directory,
  );
}

/** As `run` has it too. */
export function withAllowProtected(command: Command): Command {
  return command.option(
    "--allow-protected <path>",
    "commit it although code of this host runs it by itself, such as .git/hooks; repeatable",
    path,
  );
}

const kId = "a transaction's id, or enough of its beginning";

function withPaths(command: Command): Command {
  return command.option(
    "--paths <path>",
    "this path of the workspace and all below it only; repeatable",
    path,
  );
}

/** Adds the commands. `say`: how the parser's complaints are written, by the command's name. */
export function addTxCommand(
  program: Command,
  actions: TxActions,
  say: (name: string) => OutputConfiguration,
): void {
  const tx = program
    .command("tx")
    .description("the transactions of `run --transaction` that wait on disk")
    .usage("list|show|diff|commit|undo|discard [options] ID")
    .configureOutput(say("tx"))
    .addHelpText(
      "after",
      `
Exit codes: 0 done; 2 misuse; 120 no such transaction; 121 a conflict; 122 it is protected (both:
nothing was changed); 123 another process has it open; 125 it can't be taken up.

Examples:
  $ native-runner tx list
  $ native-runner tx diff 4be8 | git apply --check
  $ native-runner tx commit 4be8 --paths src --paths package.json
  $ native-runner tx undo 4be8`,
    );
  const add = (name: string, description: string) =>
    withStateDirectory(tx.command(name).description(description))
      .option("--json", "print JSON instead")
      .configureOutput(say(`tx ${name}`));
  add("list", "those on disk, the oldest first").action(actions.txList);
  withPaths(add("show", "what one has changed").argument("<id>", kId)).action(actions.txShow);
  withPaths(
    add("diff", "the same as a patch for `git apply`; at a terminal in $PAGER").argument(
      "<id>",
      kId,
    ),
  ).action(actions.txDiff);
  const addDeed = (name: string, description: string) =>
    withAuditOption(add(name, description).argument("<id>", kId));
  withAllowProtected(
    withPaths(addDeed("commit", "bring the changes to the workspace, all or none")),
  ).action(actions.txCommit);
  addDeed("undo", "take the last commit back").action(actions.txUndo);
  addDeed("discard", "remove it; the workspace stays as it is").action(actions.txDiscard);
}
