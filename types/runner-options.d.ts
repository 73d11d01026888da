/** The public types of what runners take and tell of themselves; shipped and re-exported as public.d.ts is. */

import type { AuditLogTarget } from "./audit-log.js";
import type { NetworkByDomain } from "./network.js";
import type { NativeExecInput } from "./run.js";
import type { Transaction } from "./transaction.js";

/** "deny": only a private loopback. "allow": the host's network. */
export type NetworkMode = "allow" | "deny";

/** The network of a sandbox: all of the host's, none, or what may be reached by name. */
export type BubblewrapNetwork = NetworkMode | NetworkByDomain;

/** {@link BubblewrapNetwork} by its older name, of when there were modes only. */
export type BubblewrapNetworkMode = BubblewrapNetwork;

/** "strict": all layers. "compat": only the classic Bubblewrap flags, for hosts that refuse the rest. */
export type IsolationMode = "strict" | "compat";

/**
 * Which of the host's variables a command gets. "scrub": all but those that carry secrets or steer
 * loaders. "inherit": all. "clean": none. A list: these names only.
 */
export type EnvironmentPolicy = "scrub" | "inherit" | "clean" | readonly string[];

/**
 * Whether runs get sandboxes that are cloned from a template. "auto": where they can be, else new ones.
 * "never": only new ones, or those that `prewarm` keeps.
 */
export type CloneMode = "auto" | "never";

/** What every runner of this package takes. */
export type RunnerOptions = {
  /** The workspace on the host. Must be a directory when a run starts; need not exist before. */
  shadowDir: string;
  /** Which of the host's variables a command gets. Default "scrub". */
  envPolicy?: EnvironmentPolicy | undefined;
  /**
   * Runs in flight at once; further ones wait, first in, first out. A runner that names it has a
   * lane of its own; the others share one per Node environment of max(8, 4 x CPUs).
   */
  maxConcurrent?: number | undefined;
  /**
   * An `AuditLog`, where all runs are recorded, the sessions that are opened, and what is done with
   * transactions that the runner opens. Default none.
   */
  auditLog?: AuditLogTarget | undefined;
};

/** A transaction that a runner's commands work in. */
export type InTransaction = {
  /**
   * An open transaction of `shadowDir`, by whomever it was opened: at the workspace's path commands find
   * what the transaction has of it, and what they change there is one of its changes. All else is as
   * without it, but that no sandboxes are prewarmed or cloned. What runs is ended when it is committed, closed
   * or discarded. Default: none, and commands change the workspace itself.
   */
  transaction?: Transaction | undefined;
};

/** A host path that a command gets, at a path of the caller's choice. */
export type NativeMount = {
  /**
   * Absolute, without "..". When a run starts it must be a directory or a regular file; a symbolic
   * link is followed then.
   */
  hostPath: string;
  /**
   * Where the command finds it: absolute, without "..", not in or above /proc or /dev, not /workspace
   * or above it, and not where an earlier mount is, or above that. Default `hostPath`.
   */
  guestPath?: string | undefined;
  /** "ro": the command can read it. "rw": it can write what this user can. */
  mode: "ro" | "rw";
  /** A name for messages. */
  label?: string | undefined;
};

/** Options of `BubblewrapNativeRunner`. */
export type BubblewrapNativeRunnerOptions = RunnerOptions &
  InTransaction & {
    /** The bwrap program: a name looked up on the host's PATH, or an absolute path. Default "bwrap". */
    bwrapPath?: string | undefined;
    /**
     * Absolute host paths to mount read-only at the same path, in order. Default /usr, /bin, /lib,
     * /lib64 and /etc, of which one that the host lacks is skipped; a named one must exist.
     */
    roBinds?: readonly string[] | undefined;
    /**
     * Further host paths, at most 256, mounted in order after `roBinds`; those whose place is in
     * /workspace follow it. Default none.
     */
    mounts?: readonly NativeMount[] | undefined;
    /** Default "deny". */
    network?: BubblewrapNetwork | undefined;
    /** Default "strict". */
    isolation?: IsolationMode | undefined;
    /**
     * Options for bwrap, passed verbatim after the mounts. One that opens the sandbox takes the layer
     * that it undoes out of the audit, which then has "opened:" and the option.
     */
    extraArgs?: readonly string[] | undefined;
    /** Mount a minimal /dev. Default true. */
    devBind?: boolean | undefined;
    /**
     * Mount a private /proc. Default true. `false` needs bwrap 0.5 or newer, strict isolation and no
     * "/" in `roBinds`; the audit then has the layer "no-proc".
     */
    procBind?: boolean | undefined;
    /** Whether the workspace may be written. Default true. */
    allowWriteWorkspace?: boolean | undefined;
    /** Further walls inside the sandbox. Default none. */
    layers?: readonly "landlock"[] | undefined;
    /** Names of layers that must be in force, else the outcome is "setup-failed". Default none. */
    required?: readonly string[] | undefined;
    /**
     * Sandboxes to keep standing, 0 to 64: each serves one run, which then starts several times
     * sooner, and is replaced. They are made from the first run on, or by `warm()`. 0: none. Default:
     * from the third run on as many as ran at once, up to 4. Only with isolation "strict" and without
     * `extraArgs`; at most 64 stand in one Node environment.
     */
    prewarm?: number | undefined;
    /**
     * Milliseconds without a run after which the standing sandboxes, and the template of clones, go away,
     * >= 1. Default 60 000.
     */
    prewarmIdleMs?: number | undefined;
    /**
     * Whether runs get sandboxes that are cloned from a template, which is made behind the first runs and
     * takes a fraction of the time of a new one. Only with isolation "strict", with `procBind` and without
     * `extraArgs`; elsewhere "auto" is as "never". Audits tell of each run by `start`. Default "auto".
     */
    clone?: CloneMode | undefined;
  };

/** What a runner's standing sandboxes are doing; counts since the runner was made. */
export type PoolState = {
  /** Sandboxes that are ready now. */
  standing: number;
  /** Runs that were served by one. */
  taken: number;
  /** Runs for which none was there. */
  missed: number;
  /** Sandboxes that ended without a run: idle, dead, or no longer what would be made. */
  discarded: number;
};

/** Options of `LandlockNativeRunner`. */
export type LandlockNativeRunnerOptions = RunnerOptions &
  InTransaction & {
    /**
     * Absolute host paths that may be read. Default /usr, /lib, /lib64, /etc, /bin, /sbin and /tmp, of
     * which one that the host lacks is skipped; a named one must exist.
     */
    fsReadDirs?: readonly string[] | undefined;
    /** Absolute host paths that may be written. Default /tmp. */
    fsWriteDirs?: readonly string[] | undefined;
    /** Whether the workspace may be read. Default true. */
    allowReadWorkspace?: boolean | undefined;
    /** Whether the workspace may be written. Default true. */
    allowWriteWorkspace?: boolean | undefined;
    /** Default "deny". */
    network?: NetworkMode | undefined;
    /** Names of layers that must be in force, else the outcome is "setup-failed". Default none. */
    required?: readonly string[] | undefined;
  };

/** Options of `FirejailNativeRunner`. */
export type FirejailNativeRunnerOptions = RunnerOptions & {
  /** The firejail program: a name looked up on the host's PATH, or an absolute path. Default "firejail". */
  firejailPath?: string | undefined;
  /**
   * Absolute path of a profile file, which then confines files: nothing of that is checked. Default
   * none (--noprofile), and files are confined by the next two.
   */
  profile?: string | undefined;
  /**
   * Absolute host paths that may be read, besides the workspace. Default /usr, /lib, /lib64, /etc,
   * /bin and /sbin, of which one that the host lacks is skipped; a named one must exist.
   */
  fsReadDirs?: readonly string[] | undefined;
  /** Absolute host paths that may be read and written, besides the workspace. Default none. */
  fsWriteDirs?: readonly string[] | undefined;
  /** Options for firejail, passed verbatim; one that opens the sandbox shows in `layers`. Default none. */
  extraArgs?: readonly string[] | undefined;
  /** Default "deny". */
  network?: NetworkMode | undefined;
  /** Names of layers that must be in force, else the outcome is "setup-failed". Default none. */
  required?: readonly string[] | undefined;
};

/** Options of `LocalNativeRunner`. */
export type LocalNativeRunnerOptions = RunnerOptions & InTransaction;

/** Options of `buildBubblewrapArgv`. */
export type BubblewrapArgvOptions = {
  /** The bwrap program: a name or an absolute path; `cmd` of the result. */
  bwrapPath: string;
  /** The workspace on the host, mounted at /workspace. */
  shadowDir: string;
  /** The command and its arguments; the first must not be empty. */
  commandArgv: readonly string[];
  /** As {@link NativeExecInput.cwd}. */
  cwd?: string | undefined;
  /** "deny": `--unshare-net`. Rules by domain are refused: they need more than a command line. */
  network: BubblewrapNetworkMode;
  /** Default /usr, /bin, /lib, /lib64, /etc. */
  roBinds?: readonly string[] | undefined;
};

/** A program and its arguments. */
export type BubblewrapCommand = {
  /** The program, bwrap. */
  cmd: string;
  /** Its options, "--", and the command. */
  args: string[];
};

/** What a runner's `explain` tells about a run that it does not start. */
export type BubblewrapExplanation = BubblewrapCommand & {
  /** The layers that the run would ask for. */
  layers: string[];
  /** Names (never values) of the variables that the command would get. */
  environment: string[];
  /** SHA-256 (hex) of the policy's canonical text, as in the audit. */
  policyHash: string;
};
