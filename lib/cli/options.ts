/** The command line's options, and their conversion for the library. */

import type { Command } from "commander";

import type { AuditGrant } from "../../types/audit-log.js";
import type {
  Denial,
  EnvironmentPolicy,
  Grant,
  HttpRule,
  IsolationMode,
  NativeExecInput,
  NativeLimits,
  NativeMount,
  NativeSpawnLimits,
  NetworkMode,
  NetworkPreset,
  SandboxCaches,
  SandboxHome,
  SandboxRoot,
  Secret,
  WorkspacePathMode,
} from "../../types/public.js";
import { AuditLog } from "../audit-log/audit-log.js";
import type { RuntimeType } from "../runtime/runtime.js";
import { directory, file, type PublishedPort, path } from "./values.js";

/**
 * Parsed options as commander passes them. Options that affect the policy have no default here: see
 * policy.ts.
 */
export type CliOptions = AuditOption & {
  workspace: string;
  /** Confirms a workspace that is the host's root. */
  workspaceIsRoot?: boolean;
  cwd?: string;
  network?: NetworkMode;
  /** Hosts that may be reached, in the form of `network.allow`. */
  allowHost?: string[];
  allowPreset?: NetworkPreset[];
  /** Ports of the host's loopback, in the form of `network.hostPorts`. */
  hostPort?: string[];
  /** As in the options of a network. */
  secret?: Secret[];
  /** As in `network.http`; `run` names it --http, which `mcp` has for its port. */
  httpRule?: HttpRule[];
  roBind?: string[];
  /** False with --no-default-ro-binds. */
  defaultRoBinds: boolean;
  root?: SandboxRoot;
  image?: SandboxRoot;
  mount?: NativeMount[];
  /** Devices, as in the runner's option. */
  device?: string[];
  env?: [name: string, value: string][];
  envPolicy: EnvironmentPolicy;
  workspacePath?: WorkspacePathMode;
  home?: SandboxHome;
  tools?: "none" | "host";
  caches?: SandboxCaches;
  isolation?: IsolationMode;
  bwrap?: string;
  runtime?: RuntimeType;
  /** The file with the runtimes' configuration. */
  config?: string;
  /** Milliseconds. */
  timeout: number;
  /** Bytes of each output; undefined: all that `run` passes through, 1 MiB of what is kept. */
  maxOutput?: number;
  memory?: number;
  /** Milliseconds of CPU time. */
  cpu?: number;
  maxProcesses?: number;
  maxOpenFiles?: number;
  maxFile?: number;
  cpuShare?: number;
  ioShare?: number;
  /** Bytes. */
  maxWrite?: number;
  /** Bytes. */
  reserve?: number;
  /** False with --no-stdin. */
  stdin: boolean;
  /** Pass a terminal's input too. */
  interactive?: boolean;
  /** Give the command a terminal of its own. */
  tty?: boolean;
  /** Ports of the host that lead to the command's. */
  publish?: PublishedPort[];
  /** Keep the changes of the command in a transaction until they are settled. */
  transaction?: boolean;
  /** With a transaction: commit it if the command exits with 0. */
  commit?: boolean;
  /** With a transaction: discard it, whatever the result. */
  discard?: boolean;
  /** As in the options of a commit. */
  allowProtected?: string[];
  /** The directory that holds transactions. */
  stateDirectory?: string;
  json?: boolean;
};

type OfRunAlone =
  | "stdin"
  | "interactive"
  | "tty"
  | "json"
  | "publish"
  | "transaction"
  | "commit"
  | "discard";

/** Options as commander passes them. */
export type McpOptions = Omit<CliOptions, OfRunAlone> & {
  /** A transaction's id, or "latest". */
  resume?: string;
  /** A port, or true for any port. */
  http?: string | true;
  tokenFile?: string;
  /** The review page's port, or true for any port. */
  review?: number | true;
};

/** Value of `--resume` for the workspace's last transaction. */
export const kLatest = "latest";

/** Bytes of each output that are kept by default. */
export const kDefaultMaxOutput = 1024 ** 2;

/** Returns the limits of a run whose output is kept. */
export function limits(options: CliOptions): NativeLimits {
  const { maxOutput = kDefaultMaxOutput } = options;
  return { ...spawnLimits(options), maxStdoutBytes: maxOutput, maxStderrBytes: maxOutput };
}

function spawnLimits(options: CliOptions): NativeSpawnLimits {
  return {
    timeoutMs: options.timeout,
    memoryBytes: options.memory,
    cpuSeconds: options.cpu === undefined ? undefined : Math.ceil(options.cpu / 1000),
    maxProcesses: options.maxProcesses,
    maxOpenFiles: options.maxOpenFiles,
    maxFileBytes: options.maxFile,
    cpuShare: options.cpuShare,
    ioShare: options.ioShare,
    writeBytes: options.maxWrite,
    reserveBytes: options.reserve,
  };
}

/** Returns the input for `exec` and `explain`. */
export function execInput(command: readonly string[], options: CliOptions): NativeExecInput {
  return { ...spawnInput(command, options), limits: limits(options) };
}

/** Returns the input for `spawn`. */
export function spawnInput(command: readonly string[], options: CliOptions) {
  return {
    argv: [...command],
    cwd: options.cwd,
    env: Object.fromEntries(options.env ?? []),
    limits: spawnLimits(options),
  };
}

/** `--audit-log`, for commands whose actions are recorded. */

/** The option as commander passes it. */
export type AuditOption = {
  /** The file of a log. */
  auditLog?: string;
};

/** Adds the option. */
export function withAuditOption(command: Command): Command {
  return command.option(
    "--audit-log <file>",
    "record it in this audit log, which is made where there is none: see `native-runner audit`",
    file,
  );
}

/** Adds an option that `run` and all commands for transactions have. */
export function withStateDirectory(command: Command): Command {
  return command.option(
    "--state-directory <dir>",
    "where transactions are kept; default: openagentic/transactions in $XDG_STATE_HOME or ~/.local/state",
    directory,
  );
}

/** Adds an option that `run` has too. */
export function withAllowProtected(command: Command): Command {
  return command.option(
    "--allow-protected <path>",
    "commit it although code of this host runs it by itself, such as .git/hooks; repeatable",
    path,
  );
}

/**
 * Calls `work` with the log that the options name, if any; closes the log when `work` has settled.
 * @throws (rejects) AuditLogError if the log can't be opened or written; any error of `work`.
 */
export async function recorded<Value>(
  { auditLog: path }: AuditOption,
  work: (auditLog: AuditLog | undefined) => Promise<Value>,
): Promise<Value> {
  if (path === undefined) return work(undefined);
  await using auditLog = new AuditLog(path);
  return await work(auditLog);
}

/** Records the grants for denials for which the command line has an option; each once. */
export function recordGrants(
  auditLog: AuditLog | undefined,
  denials: readonly Denial[],
  how: Omit<AuditGrant, "option" | "value">,
): void {
  const byOption = new Map<string, Grant>();
  for (const { grant } of denials) if (grant?.cli) byOption.set(grant.cli, grant);
  for (const { option, value } of byOption.values()) auditLog?.grant({ option, value, ...how });
}

/** Adds the grants of denials to a command line. Pure. */

const kMillisecondsPerSecond = 1000;

/** Sorts parent directories first: a later mount would hide an earlier one below it. */
export function withMounts(
  mounts: readonly NativeMount[],
  added: readonly NativeMount[],
): NativeMount[] {
  const placeOf = ({ guestPath, hostPath }: NativeMount) => guestPath ?? hostPath;
  const places = new Set(added.map(placeOf));
  const all = [...mounts.filter((mount) => !places.has(placeOf(mount))), ...added];
  return all.sort((one, other) => placeOf(one).length - placeOf(other).length);
}

function addGrant(options: CliOptions, grant: Grant): CliOptions {
  switch (grant.option) {
    case "mounts":
      return { ...options, mount: withMounts(options.mount ?? [], [grant.value]) };
    case "fsReadDirs":
      return { ...options, roBind: [...new Set([...(options.roBind ?? []), grant.value])] };
    case "network.allow": {
      const { network: _, ...rest } = options;
      return { ...rest, allowHost: [...new Set([...(options.allowHost ?? []), grant.value])] };
    }
    case "network":
      return { ...options, network: grant.value };
    case "limits.memoryBytes":
      return { ...options, memory: grant.value };
    case "limits.cpuSeconds":
      return { ...options, cpu: grant.value * kMillisecondsPerSecond };
    case "limits.maxProcesses":
      return { ...options, maxProcesses: grant.value };
    case "limits.maxOpenFiles":
      return { ...options, maxOpenFiles: grant.value };
    case "limits.maxFileBytes":
      return { ...options, maxFile: grant.value };
    case "limits.writeBytes":
      return { ...options, maxWrite: grant.value };
    default:
      return options; // no command-line option exists
  }
}

/** Returns the options extended by the grants of these denials, if options for them exist. */
export function withGrants(options: CliOptions, denials: readonly Denial[]): CliOptions {
  return denials.reduce(
    (so, { grant }) => (grant === undefined || grant.cli === "" ? so : addGrant(so, grant)),
    options,
  );
}
