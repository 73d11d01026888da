/** The ceiling that an operator sets for callers of a worker. A caller can only narrow it. */

import type { BubblewrapNativeRunnerOptions, NetworkMode } from "../../../types/public.js";
import type { NarrowableName, UnsetName } from "../../options.js";

/** Network rules in the form sent to workers: presets are expanded, and `onRequest` does not exist. */
export type NetworkRules = {
  /** Entries in normalised spelling; see `NetworkByDomain.allow`. */
  allow: readonly string[];
  /** Entries that are refused, even if `allow` matches. */
  deny: readonly string[];
  /** Private destinations that allowed names may resolve to, besides public addresses. */
  allowPrivate: readonly string[];
  /** Ports of the worker's loopback, in canonical spelling; absent if there are none. */
  hostPorts?: readonly string[];
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
  /** A weight, see `limits.cpuShare`. */
  cpuShare?: number | undefined;
  /** A weight, see `limits.ioShare`. */
  ioShare?: number | undefined;
  /** Bytes added to files. */
  writeBytes?: number | undefined;
  /** Bytes that stay free: the least that a run may ask for, and what one has that asks for none. */
  reserveBytes?: number | undefined;
};

type Narrowable = Pick<BubblewrapNativeRunnerOptions, NarrowableName>;

/** Options that a caller can narrow, of the types that the runner takes; those of lib/options.ts with `worker`. */
export type NarrowableOptions = {
  [Name in Exclude<NarrowableName, UnsetName | "network">]: NonNullable<Narrowable[Name]>;
} & Pick<Narrowable, UnsetName> & {
    /** The network, in the form sent to workers. */
    network: RemoteNetwork;
  };

/** The ceiling of one tenant. */
export type Ceiling = {
  /** The bwrap program. A caller can't choose another: it would start unconfined. Default "bwrap". */
  bwrapPath: string;
  /** Most concurrent runs of the tenant; undefined: as many as the worker has slots. */
  slots?: number | undefined;
  /** Pools in which the tenant may run commands; undefined: all. */
  pools?: readonly string[] | undefined;
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
