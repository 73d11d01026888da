/** The public types of denials; shipped and re-exported like public.d.ts. */

import type { NativeLimits } from "./run.js";
import type { NativeMount } from "./runner-options.js";

/**
 * The kind of access that was refused. "request": a request that no rule of its host allows. "secret": a
 * placeholder that was sent where its value may not go. "other": a system call, or use beyond a limit.
 */
export type DenialKind =
  | "read"
  | "write"
  | "exec"
  | "connect"
  | "resolve"
  | "request"
  | "secret"
  | "other";

/** The layer that refused. "network": the sandbox's network, or the rules of a network by domain. */
export type DeniedBy = "bubblewrap" | "landlock" | "firejail" | "seccomp" | "network" | "limits";

/** Limits that a grant can raise. */
type GrantedLimit =
  | "memoryBytes"
  | "cpuSeconds"
  | "maxProcesses"
  | "maxOpenFiles"
  | "maxFileBytes"
  | "writeBytes";

/** An option with a value, and the command-line form of both. */
type GrantOf<Option extends string, Value> = {
  /** An option of the runner, or, with the prefix "limits.", of the call. */
  option: Option;
  /** The element to add to a list option; for a limit, a mode or a switch, the new value. */
  value: Value;
  /** In shell syntax: "--mount /srv/data:ro". Empty if no command-line option can express it. */
  cli: string;
};

/** The smallest grant that would have allowed the refused access. */
export type Grant =
  | GrantOf<"mounts", NativeMount>
  | GrantOf<"fsReadDirs" | "fsWriteDirs" | "folders" | "network.allow", string>
  | GrantOf<"network", "allow">
  | GrantOf<"allowWriteWorkspace", boolean>
  | GrantOf<`limits.${GrantedLimit & keyof NativeLimits}`, number>;

/**
 * One access that a layer of the sandbox refused. Accesses that the host would have refused as well are not
 * included. The command chooses the paths and names: treat them as hints for people, not as proof.
 */
export type Denial = {
  /** The kind of access. */
  kind: DenialKind;
  /** The system call as named in the man pages, "dns", or the name of a limit. */
  operation: string;
  /** The absolute path as the command sees it. */
  path?: string;
  /** The corresponding path on the host. */
  hostPath?: string;
  /** A host name or an address. */
  host?: string;
  /** The port; absent if none was known yet. */
  port?: number;
  /** Name of the requesting process: its first 15 bytes. */
  program?: string;
  /** The error that the command received, as named in errno(3); empty if it received none. */
  errno: string;
  /** The layer that refused. */
  by: DeniedBy;
  /** Number of equal denials. */
  count: number;
  /** The grant that would allow the access; absent if `notAdvised` gives the reason for offering none. */
  grant?: Grant;
  /** Set instead of `grant`: why no grant is offered, as a clause. */
  notAdvised?: string;
};

/** Extent of the denial reports: see `explain` of a run. */
export type ExplainMode = boolean | "lookups";
