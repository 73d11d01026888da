/**
 * The one policy that `run`, `explain` and `doctor` see. What the command line says wins over the
 * operator's variables, those over the configuration file, that over the defaults; but a network that
 * a variable denies is not allowed by an option.
 */

import { existsSync } from "node:fs";
import { resolve } from "node:path";

import type { BubblewrapNetwork } from "../../types/public.js";
import { kDefaultFirejailReadDirs } from "../runners/firejail.js";
import { kDefaultReadDirs } from "../runners/landlock.js";
import type { RuntimeConfig } from "../runtime/config/config.js";
import { kDefaultRuntimeBinds } from "../runtime/config/config-schema.js";
import { parseRuntimeConfig } from "../runtime/config/parse-config.js";
import {
  kSelectorNames,
  readRuntimeEnvironment,
  type Variables,
  withEnvironment,
} from "../runtime/environment.js";
import { kKinds } from "../runtime/kinds/all.js";
import { unlessDefault } from "../runtime/kinds/default-list.js";
import type { RuntimeName } from "../runtime/names.js";
import type { RuntimeSettings } from "../runtime/settings.js";
import type { CliOptions } from "./options.js";
import { checkApplicable, checkNetwork } from "./policy-checks.js";

/** The options that say something of the policy; undefined where nothing was said. */
export type PolicyOptions = Partial<
  Pick<
    CliOptions,
    | "runtime"
    | "network"
    | "allowHost"
    | "allowPreset"
    | "isolation"
    | "bwrap"
    | "roBind"
    | "defaultRoBinds"
    | "mount"
    | "transaction"
  >
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
function withReadOnly(
  list: readonly string[],
  defaults: readonly string[],
  { roBind = [], defaultRoBinds = true }: PolicyOptions,
): string[] {
  if (defaultRoBinds && roBind.length === 0) return [...list];
  const named = unlessDefault(list, defaults) ?? defaults.filter((path) => existsSync(path));
  return [...new Set([...(defaultRoBinds ? named : []), ...roBind.map((path) => resolve(path))])];
}

/** The network that a runtime gives under a configuration. */
export function networkOf(config: RuntimeConfig, runtime: RuntimeName): BubblewrapNetwork {
  return kKinds[runtime].network(config);
}

/** A network and what the options say: hosts are added to rules, and take the place of a mode. */
function withHosts(base: BubblewrapNetwork, options: PolicyOptions): BubblewrapNetwork {
  const { network, allowHost = [], allowPreset = [] } = options;
  if (network !== undefined) return network;
  if (allowHost.length === 0 && allowPreset.length === 0) return base;
  const rules = typeof base === "object" ? base : {};
  return {
    ...rules,
    allow: [...(rules.allow ?? []), ...allowHost],
    presets: [...(rules.presets ?? []), ...allowPreset],
  };
}

/**
 * What the sources come to. Reads no file but looks which of the default paths there are.
 *
 * @throws CliError with exit code 2 for options that contradict the operator or that the runtime
 * can't honour; TypeError that names the variable that is wrong.
 */
export function resolvePolicy({ options, file, variables }: PolicySources): Policy {
  const { runtime, isolation, bwrap } = options;
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
    network: withHosts(base.network, options),
    bubblewrap: {
      ...bubblewrap,
      bwrapPath: bwrap ?? bubblewrap.bwrapPath,
      isolation: isolation ?? bubblewrap.isolation,
      network: bubblewrap.network && withHosts(bubblewrap.network, options),
      roBinds: withReadOnly(bubblewrap.roBinds, kDefaultRuntimeBinds, options),
      mounts: [...bubblewrap.mounts, ...(options.mount ?? [])],
    },
    landlock: {
      ...landlock,
      fsReadDirs: withReadOnly(landlock.fsReadDirs, kDefaultReadDirs, options),
    },
    firejail: {
      ...firejail,
      fsReadDirs: withReadOnly(firejail.fsReadDirs, kDefaultFirejailReadDirs, options),
    },
  };
  return { config, required: said.required, warnings: said.warnings, chosenBy };
}
