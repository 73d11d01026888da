/**
 * The policy that `run`, `explain` and `doctor` share. Precedence: command line, operator's variables,
 * configuration file, defaults; but an option can't allow a network that a variable denies.
 */

import { existsSync } from "node:fs";
import { resolve } from "node:path";

import type { BubblewrapNetwork, HttpRule } from "../../types/public.js";
import { kDefaultFirejailReadDirs } from "../runners/firejail.js";
import { kDefaultReadDirs } from "../runners/landlock.js";
import type { RuntimeConfig } from "../runtime/config.js";
import { kDefaultRuntimeBinds } from "../runtime/config-schema.js";
import type { RuntimeSettings } from "../runtime/create.js";
import {
  kAllowHosts,
  kSelectorNames,
  type RuntimeEnvironment,
  readRuntimeEnvironment,
  type Variables,
  withEnvironment,
} from "../runtime/environment.js";
import { kKinds, unlessDefault } from "../runtime/kinds.js";
import { parseRuntimeConfig } from "../runtime/parse-config.js";
import type { RuntimeName, RuntimeType } from "../runtime/runtime.js";
import { kReplacing, replacing, writtenFlag } from "./flags.js";
import type { CliOptions } from "./options.js";
import { CliError } from "./terminal.js";

/** The options that affect the policy; undefined if not given. */
export type PolicyOptions = Partial<
  Pick<
    CliOptions,
    | "runtime"
    | "network"
    | "allowHost"
    | "allowPreset"
    | "hostPort"
    | "secret"
    | "httpRule"
    | "workspacePath"
    | "home"
    | "tools"
    | "caches"
    | "isolation"
    | "bwrap"
    | "roBind"
    | "defaultRoBinds"
    | "root"
    | "image"
    | "mount"
    | "device"
    | "transaction"
  >
>;

/** The sources of a policy. */
export type PolicySources = {
  options: PolicyOptions;
  /** The file of --config. */
  file?: RuntimeConfig | undefined;
  variables: Variables;
};

/** The policy that results from all sources. */
export type Policy = RuntimeSettings & {
  /** The option, variable or file that selected the runtime; undefined if none did. */
  chosenBy: string | undefined;
};

/** The runtime that runs commands if none is selected. */
export const kDefaultRuntime: RuntimeName = "bubblewrap";

function withoutSelectors(variables: Variables): Variables {
  const others = Object.entries(variables).filter(([name]) => !kSelectorNames.includes(name));
  return Object.fromEntries(others);
}

/**
 * Returns a list with the paths of --ro-bind added; a default list is reduced to paths that this host has.
 */
function withReadOnly(
  list: readonly string[],
  defaults: readonly string[],
  { roBind = [], defaultRoBinds = true }: PolicyOptions,
): string[] {
  if (defaultRoBinds && roBind.length === 0) return [...list];
  const named = unlessDefault(list, defaults) ?? defaults.filter((path) => existsSync(path));
  return [...new Set([...(defaultRoBinds ? named : []), ...roBind.map((path) => resolve(path))])];
}

/** Returns a list with the devices of --device added. */
const withDevices = (list: readonly string[] = [], { device = [] }: PolicyOptions = {}) => {
  const devices = [...new Set([...list, ...device])];
  return devices.length === 0 ? {} : { devices };
};

/** Paths of --ro-bind are added to the default ones, so they do not take the host's tools away. */
function toolsBeside(
  { tools, roBinds }: RuntimeConfig["bubblewrap"],
  { roBind, defaultRoBinds = true }: PolicyOptions,
): Pick<RuntimeConfig["bubblewrap"], "tools"> {
  const isDefault = unlessDefault(roBinds, kDefaultRuntimeBinds) === undefined;
  const isBeside = tools === undefined && isDefault && defaultRoBinds && roBind !== undefined;
  return isBeside ? { tools: "host" } : {};
}

/** The root file system that the command line names, or that of the configuration. */
function rootOf(
  { root }: RuntimeConfig["bubblewrap"],
  { root: directory, image, roBind, defaultRoBinds }: PolicyOptions,
): Pick<RuntimeConfig["bubblewrap"], "root"> {
  const chosen = image ?? directory ?? root;
  if (chosen === undefined) return {};
  const by = (image && "--image") ?? (directory && "--root") ?? "the configuration's `root`";
  const needless =
    (roBind && "--ro-bind") ?? (defaultRoBinds === false ? "--no-default-ro-binds" : undefined);
  if (needless !== undefined) {
    const fix = "show paths of the host by --mount";
    throw new CliError(`${needless} means nothing with ${by}`, 2, fix);
  }
  return { root: chosen };
}

/** The values of --home and --tools, which Landlock has too. */
function homeAndTools(options: PolicyOptions): Pick<RuntimeConfig["landlock"], "home" | "tools"> {
  const { home, tools } = replacing(options);
  return { ...(home !== undefined && { home }), ...(tools !== undefined && { tools }) };
}

/** Returns the network of a runtime under a configuration. */
export function networkOf(config: RuntimeConfig, runtime: RuntimeName): BubblewrapNetwork {
  return kKinds[runtime].network(config);
}

/** Combines a network with the options: hosts and ports are added to rules, and replace a mode. */
function withHosts(base: BubblewrapNetwork, options: PolicyOptions): BubblewrapNetwork {
  const { network, allowHost = [], allowPreset = [], hostPort = [] } = options;
  if (network !== undefined) return network;
  if (allowHost.length + allowPreset.length + hostPort.length === 0) return base;
  const rules = typeof base === "object" ? base : {};
  return {
    ...rules,
    allow: [...(rules.allow ?? []), ...allowHost],
    presets: [...(rules.presets ?? []), ...allowPreset],
    ...(hostPort.length > 0 && { hostPorts: [...(rules.hostPorts ?? []), ...hostPort] }),
  };
}

/** Adds hosts, secrets and rules for requests to a network; the latter two need one by name, and open nothing. */
function withOptions(base: BubblewrapNetwork, options: PolicyOptions): BubblewrapNetwork {
  const network = withHosts(base, options);
  const { secret = [], httpRule = [] } = options;
  if (typeof network !== "object" || secret.length + httpRule.length === 0) return network;
  return {
    ...network,
    secrets: [...(network.secrets ?? []), ...secret],
    http: [...(network.http ?? []), ...httpRule],
  };
}

/** @throws CliError for secrets and rules for requests where no host is allowed by name. Pure. */
function checkRequests({ secret = [], httpRule = [] }: PolicyOptions, network: BubblewrapNetwork) {
  const places = [...secret.flatMap(({ hosts }) => hosts), ...httpRule.map(({ host }) => host)];
  const [place] = places;
  if (place === undefined || typeof network === "object") return;
  throw new CliError(
    `${secret.length > 0 ? "--secret" : "--http"} means nothing where the network is "${network}": hosts have to be allowed by name`,
    2,
    `add --allow-host ${place.split("/", 1)[0]}`,
  );
}

/**
 * Combines the sources. Reads no file, but checks which of the default paths exist.
 *
 * @throws CliError with exit code 2 for options that contradict the operator or that the runtime does not
 * support; TypeError naming the invalid variable.
 */
export function resolvePolicy({ options, file, variables }: PolicySources): Policy {
  const { runtime } = options;
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
    network: withOptions(base.network, options),
    bubblewrap: {
      ...bubblewrap,
      ...toolsBeside(bubblewrap, options),
      ...replacing(options),
      ...rootOf(bubblewrap, options),
      network: bubblewrap.network && withOptions(bubblewrap.network, options),
      roBinds: withReadOnly(bubblewrap.roBinds, kDefaultRuntimeBinds, options),
      mounts: [...bubblewrap.mounts, ...(options.mount ?? [])],
      ...withDevices(bubblewrap.devices, options),
    },
    landlock: {
      ...landlock,
      ...withDevices(landlock.devices, options),
      ...homeAndTools(options),
      fsReadDirs: withReadOnly(landlock.fsReadDirs, kDefaultReadDirs, options),
    },
    firejail: {
      ...firejail,
      fsReadDirs: withReadOnly(firejail.fsReadDirs, kDefaultFirejailReadDirs, options),
    },
  };
  checkRequests(options, networkOf(config, kDefaultRuntime)); // no other one takes them
  return { config, required: said.required, warnings: said.warnings, chosenBy };
}

/** Detects contradictions with the operator, or with the selected runtime. Pure. */

/**
 * With "auto", options are passed to the selected runtime, except those that it might not support.
 * @throws CliError for an option that the selected runtime does not support.
 */
function checkApplicable(
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
  if (options.root !== undefined) refuse("--root", "name --runtime bubblewrap");
  if (options.image !== undefined) refuse("--image", "name --runtime bubblewrap");
  if (options.transaction) refuse("--transaction", "name --runtime bubblewrap");
  if (options.device !== undefined && runtime !== "landlock") {
    refuse("--device", "name --runtime bubblewrap");
  }
  if (runtime === "auto") return; // it selects only runtimes that support rules
  if (options.allowHost !== undefined) refuse("--allow-host", "name --runtime bubblewrap");
  if (options.allowPreset !== undefined) refuse("--allow-preset", "name --runtime bubblewrap");
  if (options.hostPort !== undefined) refuse("--host-port", "name --runtime bubblewrap");
  if (options.secret !== undefined) refuse("--secret", "name --runtime bubblewrap");
  if (options.httpRule !== undefined) refuse("--http", "name --runtime bubblewrap");
  const given = replacing(options);
  const understood = runtime === "landlock" ? Object.keys(homeAndTools(options)) : [];
  for (const name of kReplacing) {
    if (Object.hasOwn(given, name) && !understood.includes(name)) refuse(writtenFlag(name));
  }
  if (runtime === "native" && options.network === "deny") refuse("--network deny");
  if (runtime === "landlock") return;
  if (options.roBind !== undefined) refuse("--ro-bind");
  if (options.defaultRoBinds === false) refuse("--no-default-ro-binds");
}

/** Returns the variable that denies the network to `runtime`, as "NAME=deny". */
function denial(said: RuntimeEnvironment, runtime: RuntimeType): string | undefined {
  const ofBubblewrap = said.bubblewrap.network;
  const mayBeBubblewrap = runtime === "auto" || runtime === "bubblewrap";
  if (mayBeBubblewrap && ofBubblewrap === "deny") return "OPENAGENTIC_BWRAP_NETWORK=deny";
  if (runtime === "bubblewrap" && ofBubblewrap === "allow") return undefined;
  return said.network === "deny" ? "OPENAGENTIC_SANDBOX_NETWORK=deny" : undefined;
}

/** @throws CliError for a host or a port that is not on the operator's list, which names all reachable hosts. */
function checkHosts(options: PolicyOptions, allowHosts: readonly string[]): void {
  const { network, allowHost = [], allowPreset = [], hostPort = [] } = options;
  const extra = allowHost.find((host) => !allowHosts.includes(host));
  const opened =
    (network === "allow" && "--network allow") ||
    (extra !== undefined && `--allow-host ${extra}`) ||
    (allowPreset.length > 0 && `--allow-preset ${allowPreset[0]}`) ||
    (hostPort.length > 0 && `--host-port ${hostPort[0]}`);
  if (!opened) return;
  const fix = "leave it out, or ask the operator to add to the variable";
  throw new CliError(`${opened}, but the operator set ${kAllowHosts}`, 2, fix);
}

/** @throws CliError if an option or the runtime would allow a network that a variable denies. */
function checkNetwork(
  options: PolicyOptions,
  said: RuntimeEnvironment,
  runtime: RuntimeType,
): void {
  const { network, runtime: named, allowHost, allowPreset, hostPort } = options;
  if (said.allowHosts !== undefined) checkHosts(options, said.allowHosts);
  const denied = denial(said, runtime);
  if (denied === undefined) return;
  const opening =
    (network === "allow" && "--network") ||
    (allowHost && "--allow-host") ||
    (allowPreset && "--allow-preset") ||
    (hostPort && "--host-port");
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

function ruleInWords({ host, methods, paths }: HttpRule): string {
  const which = methods === undefined ? "" : `${methods.join(",")} `;
  return (paths ?? ["/*"]).map((path) => `${which}${host}${path}`).join(", ");
}

/** Returns rules as text; a mode unchanged. Pure. */
export function rulesInWords(network: BubblewrapNetwork): string {
  if (typeof network !== "object") return network;
  const { allow = [], presets = [], deny = [], allowPrivate = [], onRequest } = network;
  const { hostPorts = [], secrets = [], http = [] } = network;
  const allowed = [...allow, ...presets.map((name) => `the preset ${name}`)];
  return [
    allowed.length === 0 ? "by domain: nothing" : `by domain: ${allowed.join(", ")}`,
    deny.length === 0 ? "" : `never ${deny.join(", ")}`,
    allowPrivate.length === 0 ? "" : `private addresses of ${allowPrivate.join(", ")}`,
    hostPorts.length === 0 ? "" : `ports of the host's loopback: ${hostPorts.join(", ")}`,
    onRequest === undefined ? "" : "somebody is asked about the rest",
    ...secrets.map(({ name, hosts }) => `${name} for ${hosts.join(", ")}, and never inside`),
    http.length === 0 ? "" : `requests: only ${http.map(ruleInWords).join(", ")}`,
  ]
    .filter((text) => text !== "")
    .join("; ");
}
