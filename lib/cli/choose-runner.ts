/** The runner for a command line. */

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

/** What a command line runs commands with. */
export type ChosenRunner = {
  policy: Policy;
  name: RuntimeName;
  runner: RuntimeRunner;
  /** The layers that a proof of it found in force; empty where nothing was proved. */
  provedLayers: readonly string[];
};

/**
 * The policy of a command line, with its configuration file read and its warnings told.
 * @throws (rejects) TypeError for a wrong file or variable; CliError for options that contradict.
 */
export async function readPolicy(
  options: PolicyOptions & Pick<CliOptions, "config">,
  variables: Variables,
): Promise<Policy> {
  const { config } = options;
  const file = config === undefined ? undefined : await loadRuntimeConfig(config);
  return resolvePolicy({ options, file, variables });
}

/** What a runner has besides what the command line says. */
export type Besides = InTransaction &
  Pick<NetworkByDomain, "onRequest"> & {
    /** Where it records its runs. Default nowhere. */
    auditLog?: AuditLog | undefined;
  };

/** Rules by domain with somebody who is asked about the rest; a mode has no rest. */
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

/** Chosen by something, it is proved to work; the default is not, which would cost two runs. */
async function runtimeFor(
  { config, chosenBy, required }: Policy,
  auditLog: AuditLog | undefined,
): Promise<Runtime> {
  if (chosenBy === undefined) {
    return new ConfiguredRuntime(kKinds[kDefaultRuntime], config, { auditLog });
  }
  // The variables are in the configuration already.
  const environment = { OPENAGENTIC_SANDBOX_REQUIRED: required ? "1" : "0" };
  return createRuntime(config, { environment, auditLog });
}

/**
 * The runner for the options: Bubblewrap where nothing chooses, else the runtime that --runtime, the
 * variables or --config name, proved to work.
 *
 * @throws (rejects) as {@link readPolicy}; SandboxError where no such runtime works here.
 */
export async function chooseRunner(
  options: CliOptions,
  host: Variables = process.env,
  { onRequest, transaction, auditLog }: Besides = {},
): Promise<ChosenRunner> {
  const said = await readPolicy(options, host);
  // A bound that the operator has set by a variable is one: nobody is asked beyond it.
  const isBound = (host.OPENAGENTIC_SANDBOX_ALLOW_HOSTS ?? "") !== "";
  const policy = onRequest === undefined || isBound ? said : withAsker(said, onRequest);
  for (const warning of policy.warnings) printError(`warning: ${warning}`);
  const runtime = await runtimeFor(policy, auditLog);
  const { layers } = policy.chosenBy === undefined ? { layers: [] } : await runtime.isAvailable();
  const { workspace, envPolicy } = options;
  const runner = runtime.runner({ shadowDir: resolve(workspace), envPolicy, transaction });
  return { policy, name: runtime.name, runner, provedLayers: layers };
}
