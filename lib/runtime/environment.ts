/**
 * Reads the variables by which an operator selects and limits a runtime, overriding the host application's
 * configuration. Pure: reads only the given variables.
 */

import type { BubblewrapNetwork, NetworkMode } from "../../types/public.js";
import { invalidValue } from "../errors.js";
import { suggestion } from "../fields.js";
import type { RuntimeConfig } from "./config.js";
import { kRuntimeTypes, type RuntimeType } from "./runtime.js";

/** The values of the variables; an undefined field was not set. */
export type RuntimeEnvironment = {
  runtimeType: RuntimeType | undefined;
  /** The variable that selected it. */
  selectedBy: string | undefined;
  /** The selected runtime or an error: no fallback, and every warning is an error. */
  required: boolean;
  network: NetworkMode | undefined;
  /** Value of OPENAGENTIC_SANDBOX_ALLOW_HOSTS: no other host may be reached. */
  allowHosts: string[] | undefined;
  bubblewrap: {
    bwrapPath: string | undefined;
    network: NetworkMode | undefined;
    roBinds: string[] | undefined;
  };
  /** Contradictory or unknown values that are not errors. */
  warnings: string[];
};

type Choice = { variable: string; value: string; type: RuntimeType };

const kBackends: Readonly<Record<string, RuntimeType>> = {
  none: "native",
  bwrap: "bubblewrap",
  landlock: "landlock",
  firejail: "firejail",
  auto: "auto",
};

const kTypes: Readonly<Record<string, RuntimeType>> = Object.fromEntries(
  kRuntimeTypes.map((type) => [type, type]),
);

/** In order of precedence. */
const kSelectors = [
  { variable: "OPENAGENTIC_RUNTIME_TYPE", values: kTypes, lenient: false },
  { variable: "ZEPTOCLAW_RUNTIME_TYPE", values: kTypes, lenient: false },
  { variable: "OPENAGENTIC_SANDBOX_BACKEND", values: kBackends, lenient: false },
  { variable: "OPENAGENTIC_PROCESS_SANDBOX", values: { bwrap: "bubblewrap" }, lenient: true },
] as const;

/** The variable that lists the only hosts that may be reached. */
export const kAllowHosts = "OPENAGENTIC_SANDBOX_ALLOW_HOSTS";
const kModes = ["OPENAGENTIC_BWRAP_NETWORK", "OPENAGENTIC_SANDBOX_NETWORK"] as const;

/** The variables that select a runtime. */
export const kSelectorNames: readonly string[] = kSelectors.map(({ variable }) => variable);

function readChoices(variables: Variables, warn: (message: string) => void): Choice[] {
  const choices: Choice[] = [];
  for (const { variable, values, lenient } of kSelectors) {
    const value = readText(variables, variable);
    if (value === undefined) continue;
    const types: Readonly<Record<string, RuntimeType>> = values;
    const type = Object.hasOwn(types, value) ? types[value] : undefined;
    if (type !== undefined) choices.push({ variable, value, type });
    else if (lenient) warn(`unsupported ${variable}=${value}`);
    else throw oneOf(variable, value, Object.keys(types));
  }
  return choices;
}

function contradiction(first: Choice, other: Choice): string {
  const pair = `${first.variable}=${first.value} and ${other.variable}=${other.value}`;
  return `${pair} contradict each other`;
}

/**
 * Reads the variables. OPENAGENTIC_RUNTIME_TYPE overrides OPENAGENTIC_SANDBOX_BACKEND, which overrides
 * OPENAGENTIC_PROCESS_SANDBOX.
 *
 * @throws TypeError with code ERR_INVALID_ARG_VALUE naming the variable: for an unknown value and, if a
 * sandbox is required, for any warning.
 */
export function readRuntimeEnvironment(variables: Variables): RuntimeEnvironment {
  const required =
    readFlag(variables, "OPENAGENTIC_SANDBOX_REQUIRED") ||
    readFlag(variables, "OPENAGENTIC_PROCESS_SANDBOX_REQUIRED");
  const warnings: string[] = [];
  const warn = (message: string, asWarning: string) => {
    if (required) throw invalidValue(message);
    warnings.push(asWarning);
  };

  const choices = readChoices(variables, (message) => warn(message, `ignoring ${message}`));
  const [first] = choices;
  for (const other of choices) {
    if (first === undefined || other.type === first.type) continue;
    const message = contradiction(first, other);
    warn(message, `${message}; ${first.variable} wins`);
  }
  if (required && first?.type === "native") {
    throw invalidValue(`${first.variable}=${first.value}, but a sandbox is required`);
  }
  const allowHosts = readHosts(variables, kAllowHosts);
  for (const mode of kModes) {
    const value = readNetwork(variables, mode);
    if (allowHosts === undefined || value === undefined) continue;
    throw invalidValue(`${kAllowHosts} and ${mode}=${value} contradict each other`);
  }
  return {
    runtimeType: first?.type,
    selectedBy: first?.variable,
    required,
    network: readNetwork(variables, "OPENAGENTIC_SANDBOX_NETWORK"),
    allowHosts,
    bubblewrap: {
      bwrapPath: readText(variables, "OPENAGENTIC_BWRAP_PATH"),
      network: readNetwork(variables, "OPENAGENTIC_BWRAP_NETWORK"),
      roBinds:
        readPaths(variables, "OPENAGENTIC_BWRAP_RO_BINDS") ??
        readPaths(variables, "OPENAGENTIC_SANDBOX_RO_BINDS"),
    },
    warnings,
  };
}

/** Returns the network with its allowed hosts replaced by these; what else it refuses it refuses still. */
function onlyHosts(
  network: BubblewrapNetwork | undefined,
  allow: readonly string[],
): BubblewrapNetwork {
  if (typeof network !== "object") return { allow };
  const { deny, allowPrivate, secrets, http } = network;
  return {
    allow,
    ...(deny && { deny }),
    ...(allowPrivate && { allowPrivate }),
    ...(secrets && { secrets }),
    ...(http && { http }),
  };
}

/** Returns the configuration with the operator's variables applied; the variables override it. */
export function withEnvironment(config: RuntimeConfig, said: RuntimeEnvironment): RuntimeConfig {
  const { bubblewrap } = config;
  const { allowHosts } = said;
  const limited = <Network extends BubblewrapNetwork | undefined>(network: Network) =>
    allowHosts === undefined || network === undefined ? network : onlyHosts(network, allowHosts);
  return {
    ...config,
    runtimeType: said.runtimeType ?? config.runtimeType,
    allowFallbackToNative: config.allowFallbackToNative && !said.required,
    network: limited(said.network ?? config.network),
    bubblewrap: {
      ...bubblewrap,
      bwrapPath: said.bubblewrap.bwrapPath ?? bubblewrap.bwrapPath,
      network: limited(said.bubblewrap.network ?? said.network ?? bubblewrap.network),
      roBinds: said.bubblewrap.roBinds ?? bubblewrap.roBinds,
    },
  };
}

/** Parses values of the operator's variables. Pure; each throws a TypeError naming the variable. */

/** Environment variables by name. */
export type Variables = Readonly<Record<string, string | undefined>>;

/** Returns the value; an empty value counts as not set. */
function readText(variables: Variables, name: string): string | undefined {
  const value = variables[name];
  return value === "" ? undefined : value;
}

/** Creates the error for an unknown value. */
function oneOf(name: string, value: string, values: readonly string[]): TypeError {
  const choices = values.join(", ");
  return invalidValue(`${name}=${value} is not one of ${choices}${suggestion(value, values)}`);
}

/** True for "1"; false for "0", "" and an unset variable. */
function readFlag(variables: Variables, name: string): boolean {
  const value = readText(variables, name);
  if (value === undefined || value === "0") return false;
  if (value === "1") return true;
  throw oneOf(name, value, ["0", "1"]);
}

/** Returns "allow" or "deny". */
function readNetwork(variables: Variables, name: string): NetworkMode | undefined {
  const value = readText(variables, name);
  if (value === undefined || value === "allow" || value === "deny") return value;
  throw oneOf(name, value, ["allow", "deny"]);
}

/** Parses a comma-separated list of absolute paths. */
function readPaths(variables: Variables, name: string): string[] | undefined {
  const value = readText(variables, name);
  if (value === undefined) return undefined;
  const paths = value.split(",").map((path) => path.trim());
  const named = paths.filter((path) => path !== "");
  if (named.length > 0 && named.every((path) => path.startsWith("/"))) return named;
  throw invalidValue(`${name}=${value} is not a comma list of absolute paths`);
}

/** The shape of an entry; the addon decides if it is a valid name. */
const kHost = /^(\*\.)?[^\s:/@*%?#[\]\\]+(:[0-9]{1,5})?$/u;

/** True if a text could be an entry of `network.allow`. */
export function looksLikeHost(text: string): boolean {
  return kHost.test(text) && !text.includes("\0");
}

/** Parses a comma-separated list of hosts in the form of `network.allow`. */
function readHosts(variables: Variables, name: string): string[] | undefined {
  const value = readText(variables, name);
  if (value === undefined) return undefined;
  const hosts = value
    .split(",")
    .map((host) => host.trim())
    .filter((host) => host !== "");
  if (hosts.length > 0 && hosts.every(looksLikeHost)) return hosts;
  throw invalidValue(
    `${name}=${value} is not a comma list of hosts ("host", "host:port", "*.domain")`,
  );
}
