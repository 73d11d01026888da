/** What an operator lets callers of a worker have: the most of each, which a caller can only narrow. */

import type {
  CloneMode,
  EnvironmentPolicy,
  IsolationMode,
  NativeMount,
  NetworkMode,
} from "../../../types/public.js";

/** Rules by domain as they travel: presets are expanded, and nobody can be asked. */
export type NetworkRules = {
  /** Entries in their one spelling; see `NetworkByDomain.allow`. */
  allow: readonly string[];
  /** Entries that are refused, whatever allows them. */
  deny: readonly string[];
  /** Where allowed names may lead besides public addresses. */
  allowPrivate: readonly string[];
};

/** A network of a ceiling, or of a caller. */
export type RemoteNetwork = NetworkMode | NetworkRules;

/** The most that one run may ask for; undefined: any figure, and none is set where none is asked for. */
export type LimitCeiling = {
  /** Milliseconds; `Infinity`: a run may ask for no deadline. Default 3 600 000. */
  timeoutMs: number;
  /** Bytes that are kept. Default 64 MiB. */
  maxStdoutBytes: number;
  /** Bytes that are kept. Default 64 MiB. */
  maxStderrBytes: number;
  /** Bytes. */
  memoryBytes?: number | undefined;
  /** Seconds. */
  cpuSeconds?: number | undefined;
  /** Processes and threads. */
  maxProcesses?: number | undefined;
  /** Descriptors of each process. */
  maxOpenFiles?: number | undefined;
  /** Bytes of a file. */
  maxFileBytes?: number | undefined;
};

/** What a caller can narrow, and the runner's option of the same name takes. */
export type NarrowableOptions = {
  /** Default "deny". */
  network: RemoteNetwork;
  /** Undefined: the runner's default five, of which those that the host lacks are left out. */
  roBinds?: readonly string[] | undefined;
  /** Default none. */
  mounts: readonly NativeMount[];
  /** Of the WORKER's environment. Default "scrub". */
  envPolicy: EnvironmentPolicy;
  /** Default "strict". */
  isolation: IsolationMode;
  /** Default none. */
  layers: readonly "landlock"[];
  /** Default none. */
  required: readonly string[];
  /** Default true. */
  allowWriteWorkspace: boolean;
  /** Default true. */
  devBind: boolean;
  /** Default true. */
  procBind: boolean;
  /** Default "auto". */
  clone: CloneMode;
  /** Sandboxes of a runner that may stand. Undefined: as many as the runner makes by itself. */
  prewarm?: number | undefined;
  /** Milliseconds after which they go. Default 60 000. */
  prewarmIdleMs: number;
};

/** The most of everything for one tenant. */
export type Ceiling = {
  /** The bwrap program. No caller can name another: it would be started unconfined. Default "bwrap". */
  bwrapPath: string;
  /** Runs of the tenant at once; undefined: as many as the worker has slots. */
  slots?: number | undefined;
  /** What a caller gets who asks for nothing, and the most that one can ask for. */
  options: NarrowableOptions;
  /** The most that a run can ask for. */
  limits: LimitCeiling;
};

/** A worker's policy: a ceiling for everybody, and lower ones for those who are named. */
export type WorkerPolicy = {
  /** For tenants that `tenants` does not have. */
  ceiling: Ceiling;
  /** By name. None is wider than `ceiling` in anything. */
  tenants: ReadonlyMap<string, Ceiling>;
};

/** The ceiling of a tenant. */
export function ceilingOf(policy: WorkerPolicy, tenant: string): Ceiling {
  return policy.tenants.get(tenant) ?? policy.ceiling;
}
