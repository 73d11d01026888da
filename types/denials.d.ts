/** The public types of denials; shipped and re-exported as public.d.ts is. */

import type { NativeLimits } from "./run.js";
import type { NativeMount } from "./runner-options.js";

/** What a command wanted when it was refused. "other": a system call, or more than a limit. */
export type DenialKind = "read" | "write" | "exec" | "connect" | "resolve" | "other";

/** Which wall said no. "network": the sandbox's own, or the rules of one by domain. */
export type DeniedBy = "bubblewrap" | "landlock" | "firejail" | "seccomp" | "network" | "limits";

/** Limits that a grant can raise. */
type GrantedLimit = "memoryBytes" | "cpuSeconds" | "maxProcesses" | "maxOpenFiles" | "maxFileBytes";

/** An option with a value, and how the command line says both; empty where it can't. */
type GrantOf<Option extends string, Value> = {
  /** Of the runner, or with "limits." before it of the call. */
  option: Option;
  /** To add to a list; what a limit, a mode or a switch is to be otherwise. */
  value: Value;
  /** As a shell reads it: "--mount /srv/data:ro". Empty where no option of the command line can say it. */
  cli: string;
};

/** The least that would have let the command do what it was refused. */
export type Grant =
  | GrantOf<"mounts", NativeMount>
  | GrantOf<"fsReadDirs" | "fsWriteDirs" | "folders" | "network.allow", string>
  | GrantOf<"network", "allow">
  | GrantOf<"allowWriteWorkspace", boolean>
  | GrantOf<`limits.${GrantedLimit & keyof NativeLimits}`, number>;

/**
 * One thing that a wall of the sandbox has refused a command; what the host would have refused as well
 * is none. Paths and names are the command's to choose: hints for people, and no proof of anything.
 */
export type Denial = {
  /** What was wanted. */
  kind: DenialKind;
  /** The system call as the man pages name it, "dns", or the name of a limit. */
  operation: string;
  /** The path as the command sees it, absolute. */
  path?: string;
  /** Where that is on the host. */
  hostPath?: string;
  /** A name, or an address. */
  host?: string;
  /** Its port; absent where none was named yet. */
  port?: number;
  /** Name of the process that asked: its first 15 bytes. */
  program?: string;
  /** What the command was told, as errno(3) names it; empty where it was told nothing. */
  errno: string;
  /** Who refused. */
  by: DeniedBy;
  /** How many were alike. */
  count: number;
  /** What would allow it; absent where `notAdvised` says why there is none. */
  grant?: Grant;
  /** In place of a grant: why none is offered, as a clause. */
  notAdvised?: string;
};

/** What is told of what the sandbox has refused: see `explain` of a run. */
export type ExplainMode = boolean | "lookups";
