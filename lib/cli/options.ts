/** The command line's options, and what they mean to the library. */

import type {
  EnvironmentPolicy,
  IsolationMode,
  NativeExecInput,
  NativeLimits,
  NativeMount,
  NetworkMode,
  NetworkPreset,
} from "../../types/public.js";
import type { RuntimeType } from "../runtime/names.js";
import type { AuditOption } from "./audit/audit-option.js";

/**
 * As commander hands them over, parsed. What says something of the policy has no default here: see
 * policy.ts.
 */
export type CliOptions = AuditOption & {
  workspace: string;
  /** Consent to a workspace that is the host's root. */
  workspaceIsRoot?: boolean;
  cwd?: string;
  network?: NetworkMode;
  /** Hosts that may be reached, as `network.allow` has them. */
  allowHost?: string[];
  allowPreset?: NetworkPreset[];
  roBind?: string[];
  /** False with --no-default-ro-binds. */
  defaultRoBinds: boolean;
  mount?: NativeMount[];
  env?: [name: string, value: string][];
  envPolicy: EnvironmentPolicy;
  isolation?: IsolationMode;
  bwrap?: string;
  runtime?: RuntimeType;
  /** The runtimes' configuration, a file. */
  config?: string;
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
  /** What the command changes waits for somebody's word. */
  transaction?: boolean;
  /** With a transaction: committed where the command exits with 0. */
  commit?: boolean;
  /** With a transaction: discarded, whatever comes of it. */
  discard?: boolean;
  /** Of a commit. */
  allowProtected?: string[];
  /** Where transactions are kept. */
  stateDirectory?: string;
  json?: boolean;
};

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
