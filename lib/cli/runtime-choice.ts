/** Which runtime `--runtime` and the operator's variables ask for. */

import { resolve } from "node:path";

import { BubblewrapNativeRunner } from "../runners/bubblewrap.js";
import { kDefaultReadDirs } from "../runners/landlock.js";
import type { RuntimeConfigInput } from "../runtime/config/config.js";
import { createRuntime } from "../runtime/create.js";
import { readRuntimeEnvironment, type Variables } from "../runtime/environment.js";
import type { RuntimeType } from "../runtime/names.js";
import type { RuntimeRunner } from "../runtime/runtime.js";
import { type CliOptions, presentPaths, runnerOptions } from "./options.js";
import { CliError } from "./terminal.js";

const kSelectors = [
  "OPENAGENTIC_RUNTIME_TYPE",
  "ZEPTOCLAW_RUNTIME_TYPE",
  "OPENAGENTIC_SANDBOX_BACKEND",
  "OPENAGENTIC_PROCESS_SANDBOX",
];

/** The operator's variables, without those that choose where the command line names a runtime. */
export function variablesFor(runtime: RuntimeType | undefined, variables: Variables): Variables {
  if (runtime === undefined) return variables;
  const others = Object.entries(variables).filter(([name]) => !kSelectors.includes(name));
  return Object.fromEntries(others);
}

/** Refuses options that the named runtime can't honour; "auto" leaves them to the one it takes. */
function checkApplicable(options: CliOptions): void {
  const { runtime, isolation, bwrap, roBind, defaultRoBinds } = options;
  if (runtime === undefined || runtime === "auto" || runtime === "bubblewrap") return;
  const refuse = (option: string) => {
    throw new CliError(`${option} means nothing to --runtime ${runtime}`, 2, "leave it out");
  };
  if (isolation !== "strict") refuse("--isolation");
  if (bwrap !== "bwrap") refuse("--bwrap");
  if (runtime === "landlock") return;
  if (roBind !== undefined) refuse("--ro-bind");
  if (!defaultRoBinds) refuse("--no-default-ro-binds");
}

function readDirs(options: CliOptions): string[] | undefined {
  const named = (options.roBind ?? []).map((path) => resolve(path));
  if (options.defaultRoBinds && named.length === 0) return undefined;
  return [
    ...new Set([...(options.defaultRoBinds ? presentPaths(kDefaultReadDirs) : []), ...named]),
  ];
}

/** The runtimes' configuration that the options stand for. */
export function runtimeConfig(options: CliOptions): RuntimeConfigInput {
  const { bwrapPath, roBinds, isolation } = runnerOptions(options);
  return {
    network: options.network,
    bubblewrap: { bwrapPath, isolation, roBinds: roBinds === undefined ? undefined : [...roBinds] },
    landlock: { fsReadDirs: readDirs(options) },
  };
}

/**
 * The runner for the options: Bubblewrap where nothing else is asked for, else the runtime that
 * `--runtime` or the variables name, proved to work. What else the options say wins over variables.
 */
export async function chooseRunner(
  options: CliOptions,
  host: Variables = process.env,
): Promise<RuntimeRunner> {
  checkApplicable(options);
  const said = readRuntimeEnvironment(variablesFor(options.runtime, host));
  const runtimeType = options.runtime ?? said.runtimeType;
  if (runtimeType === undefined) return new BubblewrapNativeRunner(runnerOptions(options));
  const environment = { OPENAGENTIC_SANDBOX_REQUIRED: said.required ? "1" : "0" };
  const runtime = await createRuntime({ ...runtimeConfig(options), runtimeType }, { environment });
  const { shadowDir, envPolicy } = runnerOptions(options);
  return runtime.runner({ shadowDir, envPolicy });
}
