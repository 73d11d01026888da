/** The public types of runner options and runner state; shipped and re-exported like public.d.ts. */

import type { AuditLogTarget } from "./audit-log.js";
import type { NetworkByDomain } from "./network.js";
import type { NativeExecInput } from "./run.js";
import type { Transaction } from "./transaction.js";

/** "deny": only a private loopback. "allow": the network of the host. */
export type NetworkMode = "allow" | "deny";

/** The network of a sandbox: all of the host's, none, or the hosts that rules name. */
export type BubblewrapNetwork = NetworkMode | NetworkByDomain;

/** Former name of {@link BubblewrapNetwork}, from when only the two modes existed. */
export type BubblewrapNetworkMode = BubblewrapNetwork;

/**
 * "strict": all layers. "compat": only the classic Bubblewrap flags, for hosts that refuse the other layers.
 */
export type IsolationMode = "strict" | "compat";

/**
 * Selects the host's variables that a command gets. "scrub": all except those that carry secrets or control
 * program loaders. "inherit": all. "clean": none. A list: only these names.
 */
export type EnvironmentPolicy = "scrub" | "inherit" | "clean" | readonly string[];

/**
 * How sandboxes of runs are created. "auto": cloned from a template if possible, otherwise created anew.
 * "never": always created anew, or taken from those that `prewarm` keeps.
 */
export type CloneMode = "auto" | "never";

/** Options common to all runners of this package. */
export type RunnerOptions = {
  /** The workspace on the host. Must be a directory when a run starts; it need not exist before. */
  shadowDir: string;
  /** Agrees to a `shadowDir` that is the host's root directory; without it, that is an error. Default false. */
  workspaceIsRoot?: boolean | undefined;
  /** Selects the host's variables that a command gets. Default "scrub". */
  envPolicy?: EnvironmentPolicy | undefined;
  /**
   * Number of runs in progress at once; further runs wait in first-in, first-out order. A runner that sets it
   * has its own queue; all other runners of a Node environment share one queue of max(8, 4 x CPUs).
   */
  maxConcurrent?: number | undefined;
  /**
   * An `AuditLog` that records all runs, opened sessions, and actions on transactions that the runner opens.
   * Default none.
   */
  auditLog?: AuditLogTarget | undefined;
};

/** Option of runners whose commands can work in a transaction. */
export type InTransaction = {
  /**
   * An open transaction of `shadowDir`, opened by any runner. At the workspace's path, commands see the
   * transaction's view of it, and what they change there becomes a change of the transaction. All else is as
   * without a transaction, except that no sandboxes are prewarmed or cloned. Running commands are ended when
   * the transaction is committed, closed or discarded. Default: none; commands change the workspace itself.
   */
  transaction?: Transaction | undefined;
};

/** A host path that is mounted for a command, at a path that the caller chooses. */
export type NativeMount = {
  /**
   * Absolute, without "..". Must be a directory or a regular file when a run starts; a symbolic link is
   * followed at that time.
   */
  hostPath: string;
  /**
   * The path inside the sandbox: absolute, without "..", not in or above /proc or /dev, not /workspace or
   * above it, and not equal to or above the path of an earlier mount. Default `hostPath`.
   */
  guestPath?: string | undefined;
  /** "ro": the command can read it. "rw": the command can write whatever this user can write. */
  mode: "ro" | "rw";
  /** Name used in messages. */
  label?: string | undefined;
};

/**
 * The home of a command, at the host's path. "none": HOME names what is not there. "private": an empty directory of each
 * sandbox's own, which is gone with it; in a transaction the transaction's, which is gone with that. "kept": one that is
 * kept for the workspace. `directory`: an existing one, absolute; it must not hold the user's own home, and must not lie
 * in the workspace or hold it.
 */
export type SandboxHome = "none" | "private" | "kept" | { directory: string };

/**
 * The host's tools that a command finds. "host": those of the host's PATH, with what they need, read-only and at the
 * same paths. `paths`: further absolute paths to show. `exclude`: absolute paths that are not shown.
 */
export type SandboxTools =
  | "none"
  | "host"
  | { paths?: readonly string[] | undefined; exclude?: readonly string[] | undefined };

/**
 * The host's package caches that a command finds in its home, copy-on-write: what it writes there never reaches the
 * host's. "host": all that are known and there. A list: these names, such as "npm", "pip" or "cargo".
 */
export type SandboxCaches = "none" | "host" | readonly string[];

/**
 * A root file system in the place of the host's, which commands never write. `directory`: an unpacked one, an absolute path.
 * `image`: one of those that `native-runner image` knows: a reference that was pulled, or the path of an OCI layout or of an
 * archive, which begins with "/", "./" or "../"; it is unpacked once for all runners of this user. `tag`: which of several
 * images in it. `env`: true for its variables, PATH among them; default false, with a PATH of the usual directories.
 */
export type SandboxRoot =
  | { directory: string }
  | { image: string; tag?: string | undefined; env?: boolean | undefined };

/** Where commands see the workspace. */
export type WorkspacePathMode = "/workspace" | "same";

/** Options of `BubblewrapNativeRunner`. */
export type BubblewrapNativeRunnerOptions = RunnerOptions &
  InTransaction & {
    /** The bwrap program: a name looked up on the host's PATH, or an absolute path. Default "bwrap". */
    bwrapPath?: string | undefined;
    /**
     * Absolute host paths to mount read-only at the same path, in order. Default /usr, /bin, /lib, /lib64 and
     * /etc; a default path that the host lacks is skipped. A path given here must exist.
     */
    roBinds?: readonly string[] | undefined;
    /**
     * The root file system of commands, instead of `roBinds` and `tools`: nothing of the host's /usr and /etc is there then.
     * What can't be had, such as an image that is damaged, is the outcome "setup-failed". Needs a bwrap with `--bind-fd`.
     * Default: the host's, as `roBinds` says.
     */
    root?: SandboxRoot | undefined;
    /**
     * Further host paths to mount, at most 256, in order after `roBinds`; those with a guest path inside
     * the workspace are mounted after it. Default none.
     */
    mounts?: readonly NativeMount[] | undefined;
    /**
     * Character devices of the host that commands may use, and no others, at most 64: absolute paths below /dev, and
     * names of families: "nvidia", "nvidia:N" (one GPU), "dri", "kfd", "kvm", "fuse", "tun". One that is missing, or that
     * this user can't open, is the outcome "setup-failed". Default none.
     */
    devices?: readonly string[] | undefined;
    /**
     * Where commands see the workspace: at /workspace (the default), or at the path of `shadowDir`, as the host's own
     * tools do. Then `shadowDir` is absolute, and neither hides nor lies in what the sandbox has itself; files that
     * name the project's own path work on both sides, such as a virtual environment's or CMake's.
     */
    workspacePath?: WorkspacePathMode | undefined;
    /** The home of commands. Default "private". */
    home?: SandboxHome | undefined;
    /** The host's tools that commands find. Default "host" if `roBinds` and `root` are left out, else "none". */
    tools?: SandboxTools | undefined;
    /** The host's package caches that commands find, copy-on-write. Default "none". */
    caches?: SandboxCaches | undefined;
    /** The network of commands. Default "deny". */
    network?: BubblewrapNetwork | undefined;
    /** The isolation mode. Default "strict". */
    isolation?: IsolationMode | undefined;
    /**
     * Options for bwrap, passed verbatim after the mounts. An option that weakens the sandbox removes the
     * layer that it undoes from the audit record, which then lists "opened:" followed by the option.
     */
    extraArgs?: readonly string[] | undefined;
    /** Mount a minimal /dev. Default true. */
    devBind?: boolean | undefined;
    /**
     * Mount a private /proc. Default true. `false` requires bwrap 0.5 or newer, strict isolation and no "/"
     * in `roBinds`; the audit record then has the layer "no-proc".
     */
    procBind?: boolean | undefined;
    /** True if commands may write to the workspace. Default true. */
    allowWriteWorkspace?: boolean | undefined;
    /** Additional security layers inside the sandbox. Default none. */
    layers?: readonly "landlock"[] | undefined;
    /** Names of layers that must be in force; otherwise the outcome is "setup-failed". Default none. */
    required?: readonly string[] | undefined;
    /**
     * Number of prewarmed sandboxes to keep, 0 to 64. Each serves one run, which then starts several times
     * sooner, and is then replaced. They are created from the first run on, or by `warm()`. 0: none. Default:
     * from the third run on, as many as ran at once, up to 4. Only with isolation "strict" and without
     * `extraArgs`; one Node environment holds at most 64.
     */
    prewarm?: number | undefined;
    /**
     * Milliseconds without a run after which the prewarmed sandboxes, and the template for clones, are
     * removed, >= 1. Default 60 000.
     */
    prewarmIdleMs?: number | undefined;
    /**
     * Enables sandboxes that are cloned from a template. The template is created in the background during the
     * first runs; a clone takes a fraction of the time of a new sandbox. Only with isolation "strict", with
     * `procBind` and without `extraArgs`; otherwise "auto" has the effect of "never". The audit record of
     * each run has its `start`. Default "auto".
     */
    clone?: CloneMode | undefined;
    /**
     * Most bytes, an integer >= 1, that all transactions of this workspace in one directory hold on disk together. A
     * `process` warning comes at 80%. Beyond it commands, forks, checkpoints, merges and new transactions reject with
     * {@link TransactionError} ERR_TRANSACTION_FULL, while commits and discards go on. A command that runs is not ended.
     * Default: no bound.
     */
    maxTransactionBytes?: number | undefined;
  };

/** State of a runner's prewarmed sandboxes; counts since the runner was created. */
export type PoolState = {
  /** Sandboxes that are ready now. */
  standing: number;
  /** Runs that got a prewarmed sandbox. */
  taken: number;
  /** Runs for which no prewarmed sandbox was ready. */
  missed: number;
  /** Sandboxes that ended without a run: idle, dead, or out of date with what would be created now. */
  discarded: number;
};

/** Options of `LandlockNativeRunner`. */
export type LandlockNativeRunnerOptions = RunnerOptions &
  InTransaction & {
    /**
     * Absolute host paths that commands may read. Default /usr, /lib, /lib64, /etc, /bin, /sbin and /tmp; a
     * default path that the host lacks is skipped. A path given here must exist.
     */
    fsReadDirs?: readonly string[] | undefined;
    /** Absolute host paths that commands may write. Default /tmp. */
    fsWriteDirs?: readonly string[] | undefined;
    /** True if commands may read the workspace. Default true. */
    allowReadWorkspace?: boolean | undefined;
    /** True if commands may write to the workspace. Default true. */
    allowWriteWorkspace?: boolean | undefined;
    /** The network of commands. Default "deny". */
    network?: NetworkMode | undefined;
    /** Names of layers that must be in force; otherwise the outcome is "setup-failed". Default none. */
    required?: readonly string[] | undefined;
    /**
     * Character devices of the host that commands may use, besides those that every program needs, at most 64: absolute
     * paths below /dev, and names of families: "dri", "kfd", "kvm", "fuse", "tun". One that is missing, or that this
     * user can't open, is the outcome "setup-failed". Default none.
     */
    devices?: readonly string[] | undefined;
    /**
     * The home of commands: "private", a directory of the host that is made for the run or session and removed after
     * it; "kept", one that is kept for the workspace; { directory }, an existing directory of the host, by its absolute
     * path; "none", no home that can be used. Default "private".
     */
    home?: SandboxHome | undefined;
    /**
     * The host's tools that commands may read: "host", those of the host's PATH, as far as no secrets lie with them;
     * "none". Default "host" if `fsReadDirs` is left out, else "none".
     */
    tools?: SandboxTools | undefined;
  };

/** Options of `FirejailNativeRunner`. */
export type FirejailNativeRunnerOptions = RunnerOptions & {
  /** The firejail program: a name looked up on the host's PATH, or an absolute path. Default "firejail". */
  firejailPath?: string | undefined;
  /**
   * Absolute path of a profile file, which then confines access to files; its contents are not checked.
   * Default none (--noprofile); the next two options then confine access to files.
   */
  profile?: string | undefined;
  /**
   * Absolute host paths that commands may read, besides the workspace. Default /usr, /lib, /lib64, /etc, /bin
   * and /sbin; a default path that the host lacks is skipped. A path given here must exist.
   */
  fsReadDirs?: readonly string[] | undefined;
  /** Absolute host paths that commands may read and write, besides the workspace. Default none. */
  fsWriteDirs?: readonly string[] | undefined;
  /**
   * Options for firejail, passed verbatim; an option that weakens the sandbox appears in `layers`. Default
   * none.
   */
  extraArgs?: readonly string[] | undefined;
  /** The network of commands. Default "deny". */
  network?: NetworkMode | undefined;
  /** Names of layers that must be in force; otherwise the outcome is "setup-failed". Default none. */
  required?: readonly string[] | undefined;
};

/** Options of `LocalNativeRunner`. */
export type LocalNativeRunnerOptions = RunnerOptions & InTransaction;

/** Options of `buildBubblewrapArgv`. */
export type BubblewrapArgvOptions = {
  /** The bwrap program: a name or an absolute path. Becomes `cmd` of the result. */
  bwrapPath: string;
  /** The workspace on the host, mounted at /workspace. */
  shadowDir: string;
  /** The command and its arguments; the first must not be empty. */
  commandArgv: readonly string[];
  /** See {@link NativeExecInput.cwd}. */
  cwd?: string | undefined;
  /**
   * "deny" adds `--unshare-net`. Rules by domain are refused, because a command line alone can't enforce
   * them.
   */
  network: BubblewrapNetworkMode;
  /** Host paths to mount read-only. Default /usr, /bin, /lib, /lib64, /etc. */
  roBinds?: readonly string[] | undefined;
};

/** A program and its arguments. */
export type BubblewrapCommand = {
  /** The program: bwrap. */
  cmd: string;
  /** Its options, "--", and the command. */
  args: string[];
};

/** The result of a runner's `explain`: describes a run without starting it. */
export type BubblewrapExplanation = BubblewrapCommand & {
  /** The layers that the run would request. */
  layers: string[];
  /** Names (never values) of the variables that the command would get. */
  environment: string[];
  /** SHA-256 (hex) of the policy's canonical text, as in the audit record. */
  policyHash: string;
};
