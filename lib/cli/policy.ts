/**
 * The one policy that `run`, `explain` and `doctor` see. What the command line says wins over the
 * operator's variables, those over the configuration file, that over the defaults; but a network that
 * a variable denies is not allowed by an option.
 */

import { existsSync } from "node:fs";
import { resolve } from "node:path";

import type { NetworkMode } from "../../types/public.js";
import { kDefaultFirejailReadDirs } from "../runners/firejail.js";
import { kDefaultReadDirs } from "../runners/landlock.js";
import type { RuntimeConfig } from "../runtime/config/config.js";
import { kDefaultRuntimeBinds } from "../runtime/config/config-schema.js";
import { parseRuntimeConfig } from "../runtime/config/parse-config.js";
import {
  kSelectorNames,
  type RuntimeEnvironment,
  readRuntimeEnvironment,
  type Variables,
  withEnvironment,
} from "../runtime/environment.js";
import { unlessDefault } from "../runtime/kinds/default-list.js";
import type { RuntimeName } from "../runtime/names.js";
import type { RuntimeSettings } from "../runtime/settings.js";
import type { CliOptions } from "./options.js";
import { CliError } from "./terminal.js";

/** The options that say something of the policy; undefined where nothing was said. */
export type PolicyOptions = Partial<
  Pick<CliOptions, "runtime" | "network" | "isolation" | "bwrap" | "roBind" | "defaultRoBinds">
>;

/** Where a policy comes from. */
export type PolicySources = {
  options: PolicyOptions;
  /** Of --config. */
  file?: RuntimeConfig | undefined;
  variables: Variables;
};

/** What holds, all sources taken together. */
export type Policy = RuntimeSettings & {
  /** The option, variable or file that chose the runtime; undefined when none did. */
  chosenBy: string | undefined;
};

/** The runtime that runs commands when nothing chooses one. */
export const kDefaultRuntime: RuntimeName = "bubblewrap";

function withoutSelectors(variables: Variables): Variables {
  const others = Object.entries(variables).filter(([name]) => !kSelectorNames.includes(name));
  return Object.fromEntries(others);
}

/** A list, and what --ro-bind adds to it; of a default list only what this host has. */
function withMounts(
  list: readonly string[],
  defaults: readonly string[],
  { roBind = [], defaultRoBinds = true }: PolicyOptions,
): string[] {
  if (defaultRoBinds && roBind.length === 0) return [...list];
  const named = unlessDefault(list, defaults) ?? defaults.filter((path) => existsSync(path));
  return [...new Set([...(defaultRoBinds ? named : []), ...roBind.map((path) => resolve(path))])];
}

/** Refuses options that the chosen runtime can't honour; "auto" leaves them to the one it takes. */
function checkApplicable(options: PolicyOptions, runtime: string, chosenBy: string | undefined) {
  if (runtime === "auto" || runtime === "bubblewrap") return;
  const refuse = (option: string) => {
    const chosen = chosenBy === "--runtime" ? `--runtime ${runtime}` : `${runtime} (${chosenBy})`;
    throw new CliError(`${option} means nothing to ${chosen}`, 2, "leave it out");
  };
  if (options.isolation !== undefined) refuse("--isolation");
  if (options.bwrap !== undefined) refuse("--bwrap");
  if (runtime === "native" && options.network === "deny") refuse("--network deny");
  if (runtime === "landlock") return;
  if (options.roBind !== undefined) refuse("--ro-bind");
  if (options.defaultRoBinds === false) refuse("--no-default-ro-binds");
}

/** The variable that denies the network to `runtime`, as "NAME=deny". */
function denial(said: RuntimeEnvironment, runtime: string): string | undefined {
  const ofBubblewrap = said.bubblewrap.network;
  const mayBeBubblewrap = runtime === "auto" || runtime === "bubblewrap";
  if (mayBeBubblewrap && ofBubblewrap === "deny") return "OPENAGENTIC_BWRAP_NETWORK=deny";
  if (runtime === "bubblewrap" && ofBubblewrap === "allow") return undefined;
  return said.network === "deny" ? "OPENAGENTIC_SANDBOX_NETWORK=deny" : undefined;
}

function checkNetwork(
  { network, runtime: named }: PolicyOptions,
  said: RuntimeEnvironment,
  runtime: string,
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

/** The network that a runtime gives under a configuration. */
export function networkOf(config: RuntimeConfig, runtime: RuntimeName): NetworkMode {
  if (runtime === "native") return "allow";
  return runtime === "bubblewrap" ? (config.bubblewrap.network ?? config.network) : config.network;
}

/**
 * What the sources come to. Reads no file but looks which of the default paths there are.
 *
 * @throws CliError with exit code 2 for options that contradict the operator or that the runtime
 * can't honour; TypeError that names the variable that is wrong.
 */
export function resolvePolicy({ options, file, variables }: PolicySources): Policy {
  const { runtime, network, isolation, bwrap } = options;
  const said = readRuntimeEnvironment(
    runtime === undefined ? variables : withoutSelectors(variables),
  );
  const base = withEnvironment(file ?? parseRuntimeConfig({}), said);
  const chosenBy =
    (runtime === undefined ? undefined : "--runtime") ??
    said.selectedBy ??
    (file === undefined ? undefined : "--config");
  const runtimeType = runtime ?? base.runtimeType;
  const effective = chosenBy === undefined ? kDefaultRuntime : runtimeType;
  checkApplicable(options, effective, chosenBy);
  checkNetwork(options, said, effective);
  const { bubblewrap, landlock, firejail } = base;
  const config: RuntimeConfig = {
    ...base,
    runtimeType,
    network: network ?? base.network,
    bubblewrap: {
      ...bubblewrap,
      bwrapPath: bwrap ?? bubblewrap.bwrapPath,
      isolation: isolation ?? bubblewrap.isolation,
      network: network ?? bubblewrap.network,
      roBinds: withMounts(bubblewrap.roBinds, kDefaultRuntimeBinds, options),
    },
    landlock: {
      ...landlock,
      fsReadDirs: withMounts(landlock.fsReadDirs, kDefaultReadDirs, options),
    },
    firejail: {
      ...firejail,
      fsReadDirs: withMounts(firejail.fsReadDirs, kDefaultFirejailReadDirs, options),
    },
  };
  return { config, required: said.required, warnings: said.warnings, chosenBy };
}
