/** Selects the runner for a command line. */

import { resolve } from "node:path";

import type { InTransaction, NetworkByDomain } from "../../types/public.js";
import type { AuditLog } from "../audit-log/audit-log.js";
import { ConfiguredRuntime } from "../runtime/configured-runtime.js";
import { createRuntime } from "../runtime/create.js";
import type { Variables } from "../runtime/environment.js";
import { kKinds } from "../runtime/kinds.js";
import { loadRuntimeConfig } from "../runtime/parse-config.js";
import type { Runtime, RuntimeName, RuntimeRunner } from "../runtime/runtime.js";
import type { CliOptions } from "./options.js";
import { kDefaultRuntime, type Policy, type PolicyOptions, resolvePolicy } from "./policy.js";
import { printError } from "./terminal.js";

/** The runner of a command line, with its policy. */
export type ChosenRunner = {
  policy: Policy;
  name: RuntimeName;
  runner: RuntimeRunner;
  /** The layers that a test found in force; empty if nothing was tested. */
  provedLayers: readonly string[];
};

/**
 * Returns the policy of a command line, with its configuration file read and its warnings printed.
 * @throws (rejects) TypeError for an invalid file or variable; CliError for contradictory options.
 */
export async function readPolicy(
  options: PolicyOptions & Pick<CliOptions, "config">,
  variables: Variables,
): Promise<Policy> {
  const { config } = options;
  const file = config === undefined ? undefined : await loadRuntimeConfig(config);
  return resolvePolicy({ options, file, variables });
}

/** Options of a runner besides those on the command line. */
export type Besides = InTransaction &
  Pick<NetworkByDomain, "onRequest"> & {
    /** Records its runs. Default: none. */
    auditLog?: AuditLog | undefined;
    /** Where nobody chose a network, deny it by name, so that each refused request is an event. */
    tellsDenials?: boolean;
  };

/** Adds `onRequest` to rules by domain; a mode leaves no requests undecided. */
function withAsker(policy: Policy, onRequest: NetworkByDomain["onRequest"]): Policy {
  const asking = <Network>(network: Network): Network =>
    typeof network === "object" && network !== null ? { ...network, onRequest } : network;
  const { config } = policy;
  const { bubblewrap } = config;
  return {
    ...policy,
    config: {
      ...config,
      network: asking(config.network),
      bubblewrap: { ...bubblewrap, network: asking(bubblewrap.network) },
    },
  };
}

/** True if neither the command line, nor a variable, nor a file says anything of the network. */
function leavesNetwork(options: CliOptions, { config }: Policy, host: Variables): boolean {
  const { network, allowHost, allowPreset, hostPort, config: file } = options;
  const said = [network, allowHost, allowPreset, hostPort, file];
  const { bubblewrap, network: effective } = config;
  return (
    said.every((each) => each === undefined) &&
    effective === "deny" &&
    !Object.keys(host).some((name) => /^OPENAGENTIC_.*NETWORK$/.test(name)) &&
    bubblewrap.network === undefined &&
    bubblewrap.isolation === "strict"
  );
}

/** Denies the network by rules that allow nothing. */
function withDenialsTold(policy: Policy): Policy {
  return { ...policy, config: { ...policy.config, network: { allow: [] } } };
}

/** Tests a runtime that was selected; the default is not tested, which would cost two runs. */
async function runtimeFor(
  { config, chosenBy, required }: Policy,
  auditLog: AuditLog | undefined,
): Promise<Runtime> {
  if (chosenBy === undefined) {
    return new ConfiguredRuntime(kKinds[kDefaultRuntime], config, { auditLog });
  }
  // The configuration already includes the variables.
  const environment = { OPENAGENTIC_SANDBOX_REQUIRED: required ? "1" : "0" };
  return createRuntime(config, { environment, auditLog });
}

/**
 * Returns the runner for the options: Bubblewrap if none is selected, otherwise the runtime that --runtime,
 * the variables or --config name, tested.
 *
 * @throws (rejects) like {@link readPolicy}; SandboxError if no such runtime works here.
 */
export async function chooseRunner(
  options: CliOptions,
  host: Variables = process.env,
  { onRequest, transaction, auditLog, tellsDenials = false }: Besides = {},
): Promise<ChosenRunner> {
  const said = await readPolicy(options, host);
  // A limit that the operator set by a variable is absolute: no request goes beyond it.
  const isBound = (host.OPENAGENTIC_SANDBOX_ALLOW_HOSTS ?? "") !== "";
  const asking = onRequest === undefined || isBound ? said : withAsker(said, onRequest);
  const isTold =
    tellsDenials && asking.chosenBy === undefined && leavesNetwork(options, said, host);
  const policy = isTold ? withDenialsTold(asking) : asking;
  for (const warning of policy.warnings) printError(`warning: ${warning}`);
  const runtime = await runtimeFor(policy, auditLog);
  const { layers } = policy.chosenBy === undefined ? { layers: [] } : await runtime.isAvailable();
  const { workspace, workspaceIsRoot, envPolicy } = options;
  const shadowDir = resolve(workspace);
  const runner = runtime.runner({ shadowDir, workspaceIsRoot, envPolicy, transaction });
  return { policy, name: runtime.name, runner, provedLayers: layers };
}
