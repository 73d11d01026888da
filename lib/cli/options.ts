/** The command line's options, and what they mean to the library. */

import { existsSync } from "node:fs";
import { resolve } from "node:path";

import type {
  BubblewrapNativeRunnerOptions,
  BubblewrapNetworkMode,
  EnvironmentPolicy,
  IsolationMode,
  NativeExecInput,
  NativeLimits,
} from "../../types/public.js";
import { kDefaultRoBinds } from "../runners/bubblewrap.js";
import type { RuntimeType } from "../runtime/names.js";

/** As commander hands them over, parsed. */
export type CliOptions = {
  workspace: string;
  cwd?: string;
  network: BubblewrapNetworkMode;
  roBind?: string[];
  /** False with --no-default-ro-binds. */
  defaultRoBinds: boolean;
  env?: [name: string, value: string][];
  envPolicy: EnvironmentPolicy;
  isolation: IsolationMode;
  bwrap: string;
  /** Of `run` only; without it the operator's variables decide, else Bubblewrap. */
  runtime?: RuntimeType;
  /** Milliseconds. */
  timeout: number;
  /** Bytes. */
  maxOutput: number;
  memory?: number;
  /** Milliseconds of CPU time. */
  cpu?: number;
  maxProcesses?: number;
  maxOpenFiles?: number;
  maxFile?: number;
  /** False with --no-stdin. */
  stdin: boolean;
  json?: boolean;
};

/** Those of the paths that this host has. */
export function presentPaths(paths: readonly string[]): string[] {
  return paths.filter((path) => existsSync(path));
}

/**
 * Paths are taken from the current directory. --ro-bind adds to the defaults, of which those that
 * this host lacks are left out here: the library skips them only when nothing is named.
 */
export function runnerOptions(options: CliOptions): BubblewrapNativeRunnerOptions {
  const defaults = options.defaultRoBinds ? kDefaultRoBinds : [];
  const named = (options.roBind ?? []).map((path) => resolve(path));
  const roBinds = [...new Set([...presentPaths(defaults), ...named])];
  return {
    bwrapPath: options.bwrap,
    shadowDir: resolve(options.workspace),
    roBinds: options.defaultRoBinds && named.length === 0 ? undefined : roBinds,
    network: options.network,
    isolation: options.isolation,
    envPolicy: options.envPolicy,
  };
}

/** The limits of a run. */
export function limits(options: CliOptions): NativeLimits {
  return {
    timeoutMs: options.timeout,
    maxStdoutBytes: options.maxOutput,
    maxStderrBytes: options.maxOutput,
    memoryBytes: options.memory,
    cpuSeconds: options.cpu === undefined ? undefined : Math.ceil(options.cpu / 1000),
    maxProcesses: options.maxProcesses,
    maxOpenFiles: options.maxOpenFiles,
    maxFileBytes: options.maxFile,
  };
}

/** The call for `exec` and `explain`. */
export function execInput(command: readonly string[], options: CliOptions): NativeExecInput {
  return {
    argv: [...command],
    cwd: options.cwd,
    env: Object.fromEntries(options.env ?? []),
    limits: limits(options),
  };
}
