/** The ceiling that an operator sets for callers of a worker. A caller can only narrow it. */

import type {
  CloneMode,
  EnvironmentPolicy,
  IsolationMode,
  NativeMount,
  NetworkMode,
} from "../../../types/public.js";

/** Network rules in the form sent to workers: presets are expanded, and `onRequest` does not exist. */
export type NetworkRules = {
  /** Entries in normalised spelling; see `NetworkByDomain.allow`. */
  allow: readonly string[];
  /** Entries that are refused, even if `allow` matches. */
  deny: readonly string[];
  /** Private destinations that allowed names may resolve to, besides public addresses. */
  allowPrivate: readonly string[];
};

/** The network of a ceiling, or of a caller. */
export type RemoteNetwork = NetworkMode | NetworkRules;

/** The most that one run may ask for. An undefined limit has no maximum, and is not set unless a run asks for it. */
export type LimitCeiling = {
  /** Milliseconds; with `Infinity` a run may ask for no deadline. Default 3 600 000. */
  timeoutMs: number;
  /** Bytes kept. Default 64 MiB. */
  maxStdoutBytes: number;
  /** Bytes kept. Default 64 MiB. */
  maxStderrBytes: number;
  /** Bytes. */
  memoryBytes?: number | undefined;
  /** Seconds. */
  cpuSeconds?: number | undefined;
  /** Processes and threads. */
  maxProcesses?: number | undefined;
  /** Descriptors per process. */
  maxOpenFiles?: number | undefined;
  /** Bytes per file. */
  maxFileBytes?: number | undefined;
};

/** Options that a caller can narrow; each has the type of the runner's option of the same name. */
export type NarrowableOptions = {
  /** Default "deny". */
  network: RemoteNetwork;
  /** Undefined: the runner's default five; those that the host lacks are left out. */
  roBinds?: readonly string[] | undefined;
  /** Default none. */
  mounts: readonly NativeMount[];
  /** Applies to the WORKER's environment. Default "scrub". */
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
  /** Most prewarmed sandboxes of a runner. Undefined: the runner's own default. */
  prewarm?: number | undefined;
  /** Idle milliseconds after which prewarmed sandboxes are closed. Default 60 000. */
  prewarmIdleMs: number;
};

/** The ceiling of one tenant. */
export type Ceiling = {
  /** The bwrap program. A caller can't choose another: it would start unconfined. Default "bwrap". */
  bwrapPath: string;
  /** Most concurrent runs of the tenant; undefined: as many as the worker has slots. */
  slots?: number | undefined;
  /** The options of a caller that asks for none, and the most that a caller can ask for. */
  options: NarrowableOptions;
  /** The most that a run can ask for. */
  limits: LimitCeiling;
};

/** A worker's policy: a ceiling for all tenants, and lower ones for named tenants. */
export type WorkerPolicy = {
  /** For tenants that `tenants` does not name. */
  ceiling: Ceiling;
  /** Ceilings by tenant name. None exceeds `ceiling` in any option. */
  tenants: ReadonlyMap<string, Ceiling>;
};

/** Returns the ceiling of a tenant. */
export function ceilingOf(policy: WorkerPolicy, tenant: string): Ceiling {
  return policy.tenants.get(tenant) ?? policy.ceiling;
}
