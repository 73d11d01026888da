/** What contradicts the operator, or the runtime that was chosen. Pure. */

import type { RuntimeEnvironment } from "../runtime/environment.js";
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
  if (runtime === "auto") return;
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

/** @throws CliError where an option or the runtime would allow the network that a variable denies. */
export function checkNetwork(
  { network, runtime: named }: PolicyOptions,
  said: RuntimeEnvironment,
  runtime: RuntimeType,
): void {
  const denied = denial(said, runtime);
  if (denied === undefined) return;
  if (network === "allow") {
    const fix = "leave --network out, or ask the operator to unset the variable";
    throw new CliError(`--network allow, but the operator set ${denied}`, 2, fix);
  }
  if (runtime === "native") {
    const what = named === "native" ? "--runtime native" : "the native runtime";
    const fix = "choose a runtime that can, or ask the operator to unset the variable";
    throw new CliError(`${what} can't deny the network, but the operator set ${denied}`, 2, fix);
  }
}
