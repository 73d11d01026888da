/** The grammar of `native-runner learn`. Parsing only. */

import { type Command, InvalidArgumentError, Option } from "commander";

import type { RuntimeConfig } from "../../runtime/config.js";
import { readRuntimeEnvironment } from "../../runtime/environment.js";
import { visibleLine } from "../../text.js";
import { checkCommand, checkMounts, checkWorkspace } from "../checks.js";
import { readPolicy } from "../choose-runner.js";
import { type CliOptions, withStateDirectory } from "../options.js";
import type { PolicyOptions } from "../policy.js";
import { endReason } from "../reason.js";
import { CliError, printError, readStdin, watchOutput } from "../terminal.js";
import { count, file } from "../values.js";
import { wantedOf } from "../why.js";
import {
  learnedBefore,
  notDefault,
  type PolicyFile,
  policyText,
  readPolicyFile,
  writePolicyFile,
} from "./policy-file.js";
import {
  type Learned,
  type LearnedGrant,
  LearnedGrants,
  learnInRounds,
  type NotGranted,
  optionsOf,
  type Round,
} from "./rounds.js";
import { checkStandIns, tryOut, whyNoStandIn, withLearned } from "./workbench.js";

const kRounds = 10;
const kMostRounds = 100;

function rounds(text: string): number {
  const value = count(text);
  if (value >= 1 && value <= kMostRounds) return value;
  throw new InvalidArgumentError(`Expected a whole number from 1 to ${kMostRounds}.`);
}

/** Extends `command`, which already has the options of a policy, to the command that learns one. */
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

/** Options as commander passes them. */
export type LearnOptions = CliOptions & {
  /** Maximum number of runs. */
  maxRounds: number;
  /** The file to extend. */
  into?: string;
};

const kSignals = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

/**
 * The initial policies: with the operator's variables for the runs, and without them for the written file.
 */
type Start = { runs: RuntimeConfig; written: RuntimeConfig; before: Learned[]; file?: PolicyFile };

async function startOf(options: LearnOptions): Promise<Start> {
  const { into, config } = options;
  const file = into === undefined ? undefined : await readPolicyFile(into);
  const isAdded = file?.text !== undefined;
  if (isAdded && config !== undefined) {
    const fix = `leave --config out: ${into} has what it starts from`;
    throw new CliError(`--config, but ${into} is there already`, 2, fix);
  }
  const bases = isAdded ? { ...options, config: file.path } : options;
  const policy = await readPolicy(bases, process.env);
  for (const warning of policy.warnings) printError(`warning: ${warning}`);
  const { runtimeType } = policy.config;
  if (policy.chosenBy !== undefined && runtimeType !== "auto" && runtimeType !== "bubblewrap") {
    throw new CliError(`learn needs Bubblewrap, and ${policy.chosenBy} chose ${runtimeType}`, 2);
  }
  const before = isAdded ? learnedBefore(file).grants : [];
  const written = await writtenPolicy(bases);
  return { runs: policy.config, written, before, ...(file && { file }) };
}

/**
 * Returns the policy to write: without the operator's variables, which also apply to each user of the file.
 */
async function writtenPolicy(options: PolicyOptions & { config?: string }): Promise<RuntimeConfig> {
  const { config } = await readPolicy(options, {});
  return config;
}

/** True if names may be granted: not if the user or the operator has set the network. */
function mayGrantNetwork({ network }: CliOptions): boolean {
  const said = readRuntimeEnvironment(process.env);
  const denied = said.network === "deny" || said.bubblewrap.network === "deny";
  return network === undefined && !denied && said.allowHosts === undefined;
}

function whyNotTried(grant: LearnedGrant): Promise<string | undefined> {
  const isWrite = grant.option === "mounts" && grant.value.mode === "rw";
  return isWrite ? whyNoStandIn(grant.value.hostPath) : Promise.resolve(undefined);
}

function learnJson(rounds: readonly Round[], config: RuntimeConfig, grants: LearnedGrants): object {
  const last = rounds.at(-1)?.result;
  return {
    exitCode: last?.exitCode,
    outcome: last?.outcome,
    rounds: rounds.map(({ result, granted }) => ({
      exitCode: result.exitCode,
      outcome: result.outcome,
      granted,
      denials: result.denials,
      denialsOmitted: result.denialsOmitted,
    })),
    grants: grants.all,
    notGranted: notGrantedIn(rounds),
    options: optionsOf(grants.all),
    policy: notDefault(config),
  };
}

/**
 * `native-runner learn`: runs a command repeatedly, each time in a transaction that is discarded, with grants
 * for the denials of the previous run, as far as learning may grant them; then prints the policy of the last
 * run. The exit code is that of the last run.
 */
export async function learn(command: string[], options: LearnOptions): Promise<void> {
  const interrupt = new AbortController();
  watchOutput(() => interrupt.abort());
  const onSignal = () => interrupt.abort();
  for (const name of kSignals) process.once(name, onSignal);
  const { signal } = interrupt;
  try {
    checkWorkspace(options);
    checkMounts(options);
    const { runs, written, before, file } = await startOf(options);
    checkCommand(command, runs.security);
    await checkStandIns(runs);
    const stdin = options.stdin ? await readStdin(signal) : undefined;
    const grants = new LearnedGrants(before);
    const rounds = await learnInRounds({
      attempt: (given) => tryOut(command, withLearned(runs, given), options, stdin, signal),
      whyNotTried,
      grants,
      mayGrantNetwork: mayGrantNetwork(options),
      maxRounds: options.maxRounds,
      onRound: (round, number) => {
        if (!options.json) process.stderr.write(roundText(round, number, options));
      },
      signal,
    });
    process.exitCode ??= rounds.at(-1)?.result.exitCode ?? 0;
    const config = withLearned(written, grants.all);
    const text = policyText(config, grants.all);
    if (!options.json) process.stderr.write(notGrantedText(rounds));
    if (file !== undefined && !signal.aborted) {
      await writePolicyFile(file, text);
      if (!options.json) printError(`written to ${file.path}`);
    }
    if (options.json) {
      process.stdout.write(`${JSON.stringify(learnJson(rounds, config, grants), null, 2)}\n`);
    } else if (file === undefined) process.stdout.write(text);
  } finally {
    for (const name of kSignals) process.removeListener(name, onSignal);
  }
}

/** Formats the messages of learning on standard error. Pure. */

/** Maximum lines per list; a command may request any number of accesses. */
const kMostListed = 40;

function listed(lines: readonly string[]): string {
  const shown = lines.slice(0, kMostListed).map((line) => `  ${line}\n`);
  const left = lines.length - shown.length;
  return `${shown.join("")}${left > 0 ? `  and ${left} more: see --json\n` : ""}`;
}

/** Returns the command-line option; if there is none, the value. */
export function grantWords({ cli, option, value }: LearnedGrant): string {
  return visibleLine(cli === "" ? `${option}: ${JSON.stringify(value)}` : cli);
}

function ended(round: Round, options: CliOptions): string {
  const { outcome, exitCode } = round.result;
  if (outcome.kind === "exited") return exitCode === 0 ? "succeeded" : `exited with ${exitCode}`;
  return endReason(round.result, options)?.message ?? `ended: ${outcome.kind}`;
}

/** Reports a completed round. */
function roundText(round: Round, number: number, options: CliOptions): string {
  const head = `native-runner: round ${number}: ${ended(round, options)}`;
  if (round.granted.length === 0) return `${head}\n`;
  return `${head}; granted for the next:\n${listed(round.granted.map(grantWords))}`;
}

/** Reports the denials that only a person may grant, each once. */
function notGrantedText(rounds: readonly Round[]): string {
  const lines = notGrantedIn(rounds).map(({ denial, why, byHand }) => {
    const hand = byHand === "" ? "" : `; by hand: ${byHand}`;
    return visibleLine(`${wantedOf(denial)}: ${why}${hand}`);
  });
  return lines.length === 0 ? "" : `native-runner: not granted:\n${listed(lines)}`;
}

/** Returns those of all rounds, each once: for repeated ones the last. */
function notGrantedIn(rounds: readonly Round[]): NotGranted[] {
  const granted = new Set(rounds.flatMap((round) => round.granted.map(({ cli }) => cli)));
  const found = new Map<string, NotGranted>();
  for (const each of rounds.flatMap(({ notGranted }) => notGranted)) {
    if (!granted.has(each.byHand)) found.set(`${wantedOf(each.denial)} ${each.why}`, each);
  }
  return [...found.values()];
}
