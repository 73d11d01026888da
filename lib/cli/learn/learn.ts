import type { RuntimeConfig } from "../../runtime/config/config.js";
import { readRuntimeEnvironment } from "../../runtime/environment.js";
import { readPolicy } from "../choose-runner.js";
import type { CliOptions } from "../options.js";
import type { PolicyOptions } from "../policy.js";
import { checkCommand } from "../shell-lists.js";
import { CliError, printError, readStdin, watchOutput } from "../terminal.js";
import { checkMounts, checkWorkspace } from "../workspace.js";
import { notGrantedIn, notGrantedText, roundText } from "./learn-text.js";
import { type Learned, LearnedGrants, optionsOf } from "./learned.js";
import { learnedBefore, type PolicyFile, readPolicyFile, writePolicyFile } from "./policy-file.js";
import { notDefault, policyText } from "./policy-text.js";
import { learnInRounds, type Round } from "./rounds.js";
import { whyNoStandIn } from "./stand-ins.js";
import type { LearnedGrant } from "./verdict.js";
import { withLearned } from "./with-learned.js";
import { checkStandIns, tryOut } from "./workbench.js";

/** As commander hands them over. */
export type LearnOptions = CliOptions & {
  /** The most runs. */
  maxRounds: number;
  /** The file that is added to. */
  into?: string;
};

const kSignals = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

/** What is learned from: with the operator's variables, and without, as it is written down. */
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

/** The operator's variables hold for whoever uses the file too, and are no part of it. */
async function writtenPolicy(options: PolicyOptions & { config?: string }): Promise<RuntimeConfig> {
  const { config } = await readPolicy(options, {});
  return config;
}

/** Whether names may be granted: not where somebody has said what of the network there is. */
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
 * `native-runner learn`: runs a command again and again, each time in a transaction that is discarded and
 * with what the last run was denied, as far as learning may grant that; then prints the policy under which
 * the last one ran. The exit code is that of the last run.
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
