/** The grammar of `native-runner learn`. Parsing only. */

import { type Command, InvalidArgumentError, Option } from "commander";

import { withStateDirectory } from "../transactions/tx-command.js";
import { count, file } from "../values/option-values.js";
import type { LearnOptions } from "./learn.js";

const kRounds = 10;
const kMostRounds = 100;

function rounds(text: string): number {
  const value = count(text);
  if (value >= 1 && value <= kMostRounds) return value;
  throw new InvalidArgumentError(`Expected a whole number from 1 to ${kMostRounds}.`);
}

/** Makes `command`, which has the options of a policy already, the one that learns it. */
export function addLearnCommand(
  command: Command,
  action: (command: string[], options: LearnOptions) => Promise<void>,
): Command {
  return withStateDirectory(command)
    .usage("[options] -- COMMAND...")
    .description("run a command until it is denied nothing that it needs, and print that policy")
    .option("--into <file>", "add to the policy in FILE, or begin it", file)
    .addOption(new Option("--max-rounds <n>", "the most runs").argParser(rounds).default(kRounds))
    .addHelpText(
      "after",
      `
Each run's changes are discarded, and what it may write outside the workspace is a copy. The network is
real: public names that one run asks for are granted to the next. --network deny grants none.`,
    )
    .action(action);
}
