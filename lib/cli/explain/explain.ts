import { shellLines } from "../../shell-quote.js";
import { chooseRunner } from "../choose-runner.js";
import { type CliOptions, execInput } from "../options.js";
import { networkOf } from "../policy.js";
import { checkCommand } from "../shell-lists.js";
import { watchOutput } from "../terminal.js";
import { openFor } from "../transactions/open.js";
import { checkMounts, checkWorkspace } from "../workspace.js";
import { accessOf } from "./access.js";
import { policyText } from "./policy-text.js";

/**
 * `native-runner explain`: what `run` would do with the same options, on standard output. Where a
 * runtime was chosen, it is proved as `run` proves it; the command itself is not run.
 */
export async function explain(command: string[], options: CliOptions): Promise<void> {
  watchOutput(() => {});
  const workspace = checkWorkspace(options);
  checkMounts(options);
  const { runner, name, policy, provedLayers } = await chooseRunner(options);
  const { config, chosenBy } = policy;
  checkCommand(command, config.security);
  const transaction = await openFor(runner, options);
  const plan = (transaction ?? runner).explain(execInput(command, options));
  const planned = await plan.finally(() => transaction?.discard());
  // What only the kernel can add is known by the proof.
  const explanation = { ...planned, layers: [...new Set([...provedLayers, ...planned.layers])] };
  const network = networkOf(config, name);
  if (options.json) {
    process.stdout.write(
      `${JSON.stringify({ runtime: name, network, ...explanation }, null, 2)}\n`,
    );
    return;
  }
  const access = accessOf(name, config, workspace, options.transaction);
  const hostNames = Object.keys(process.env).sort();
  const context = { ...access, options, runtime: name, chosenBy, network, hostNames };
  const text = policyText(explanation, context);
  process.stdout.write(`${shellLines(explanation.cmd, explanation.args)}\n\n${text}\n`);
}
