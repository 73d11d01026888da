/** What contradicts the operator, or the runtime that was chosen. Pure. */

import { kAllowHosts, type RuntimeEnvironment } from "../runtime/environment.js";
import type { RuntimeType } from "../runtime/names.js";
import type { PolicyOptions } from "./policy.js";
import { CliError } from "./terminal.js";

/**
 * "auto" leaves the options to the runtime that it takes, but for those that it might not honour.
 * @throws CliError for an option that the chosen runtime can't honour.
 */
export function checkApplicable(
  options: PolicyOptions,
  runtime: RuntimeType,
  chosenBy: string | undefined,
): void {
  if (runtime === "bubblewrap") return;
  const refuse = (option: string, fix = "leave it out") => {
    const chosen = chosenBy === "--runtime" ? `--runtime ${runtime}` : `${runtime} (${chosenBy})`;
    throw new CliError(`${option} means nothing to ${chosen}`, 2, fix);
  };
  if (options.mount !== undefined) refuse("--mount", "name --runtime bubblewrap");
  if (options.transaction) refuse("--transaction", "name --runtime bubblewrap");
  if (runtime === "auto") return; // which takes none that can't keep rules
  if (options.allowHost !== undefined) refuse("--allow-host", "name --runtime bubblewrap");
  if (options.allowPreset !== undefined) refuse("--allow-preset", "name --runtime bubblewrap");
  if (options.isolation !== undefined) refuse("--isolation");
  if (options.bwrap !== undefined) refuse("--bwrap");
  if (runtime === "native" && options.network === "deny") refuse("--network deny");
  if (runtime === "landlock") return;
  if (options.roBind !== undefined) refuse("--ro-bind");
  if (options.defaultRoBinds === false) refuse("--no-default-ro-binds");
}

/** The variable that denies the network to `runtime`, as "NAME=deny". */
function denial(said: RuntimeEnvironment, runtime: RuntimeType): string | undefined {
  const ofBubblewrap = said.bubblewrap.network;
  const mayBeBubblewrap = runtime === "auto" || runtime === "bubblewrap";
  if (mayBeBubblewrap && ofBubblewrap === "deny") return "OPENAGENTIC_BWRAP_NETWORK=deny";
  if (runtime === "bubblewrap" && ofBubblewrap === "allow") return undefined;
  return said.network === "deny" ? "OPENAGENTIC_SANDBOX_NETWORK=deny" : undefined;
}

/** @throws CliError for a host that the operator's list does not have: that is all that may be reached. */
function checkHosts(options: PolicyOptions, allowHosts: readonly string[]): void {
  const { network, allowHost = [], allowPreset = [] } = options;
  const extra = allowHost.find((host) => !allowHosts.includes(host));
  const opened =
    (network === "allow" && "--network allow") ||
    (extra !== undefined && `--allow-host ${extra}`) ||
    (allowPreset.length > 0 && `--allow-preset ${allowPreset[0]}`);
  if (!opened) return;
  const fix = "leave it out, or ask the operator to add to the variable";
  throw new CliError(`${opened}, but the operator set ${kAllowHosts}`, 2, fix);
}

/** @throws CliError where an option or the runtime would allow the network that a variable denies. */
export function checkNetwork(
  options: PolicyOptions,
  said: RuntimeEnvironment,
  runtime: RuntimeType,
): void {
  const { network, runtime: named, allowHost, allowPreset } = options;
  if (said.allowHosts !== undefined) checkHosts(options, said.allowHosts);
  const denied = denial(said, runtime);
  if (denied === undefined) return;
  const opening =
    (network === "allow" && "--network") ||
    (allowHost && "--allow-host") ||
    (allowPreset && "--allow-preset");
  if (opening) {
    const fix = `leave ${opening} out, or ask the operator to unset the variable`;
    const what = opening === "--network" ? "--network allow" : opening;
    throw new CliError(`${what}, but the operator set ${denied}`, 2, fix);
  }
  if (runtime === "native") {
    const what = named === "native" ? "--runtime native" : "the native runtime";
    const fix = "choose a runtime that can, or ask the operator to unset the variable";
    throw new CliError(`${what} can't deny the network, but the operator set ${denied}`, 2, fix);
  }
}
