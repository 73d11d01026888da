/** The configuration of the runtimes: its fields and their defaults. */

import type {
  BubblewrapNetwork,
  IsolationMode,
  NativeMount,
  SandboxCaches,
  SandboxHome,
  SandboxRoot,
  SandboxTools,
  WorkspacePathMode,
} from "../../types/public.js";
import type { ShellAllowlistMode, ShellBlockRule } from "../shell-policy/policy.js";
import type { RuntimeType } from "./runtime.js";

/** Options of the Landlock runtime. */
export type LandlockConfig = {
  /** Directories that commands may read. Default /usr, /lib, /lib64, /etc, /bin, /sbin, /tmp. */
  fsReadDirs: string[];
  /** Directories that commands may write. Default /tmp. */
  fsWriteDirs: string[];
  /** True if commands may read the workspace. Default true. */
  allowReadWorkspace: boolean;
  /** True if commands may write to the workspace. Default true. */
  allowWriteWorkspace: boolean;
  /** Character devices of the host that commands may use: paths below /dev, and names of families. Default none. */
  devices?: readonly string[] | undefined;
  /** The home of commands. Default "private". */
  home?: SandboxHome | undefined;
  /** The host's tools that commands may read. Default "host" if `fsReadDirs` is the default, else "none". */
  tools?: SandboxTools | undefined;
};

/** Options of the Firejail runtime. */
export type FirejailConfig = {
  /** The program: a name looked up on PATH, or an absolute path. Default "firejail". */
  firejailPath: string;
  /** A profile file, which then confines access to files; null, the default, means --noprofile. */
  profile: string | null;
  /** Directories that commands may read. Default /usr, /lib, /lib64, /etc, /bin, /sbin. */
  fsReadDirs: string[];
  /** Directories that commands may write. Default none. */
  fsWriteDirs: string[];
  /** Options for firejail, passed verbatim. Default none. */
  extraArgs: string[];
};

/** Options of the Bubblewrap runtime. */
export type BubblewrapConfig = {
  /** The program: a name looked up on PATH, or an absolute path. Default "bwrap". */
  bwrapPath: string;
  /**
   * Host paths mounted read-only. Default /usr, /lib, /lib64, /etc, /bin and /sbin. If the list equals the
   * default, paths that the host lacks are skipped; in any other list each path must exist.
   */
  roBinds: string[];
  /** The root file system of commands, instead of `roBinds` and `tools`. Default: the host's, as `roBinds` says. */
  root?: SandboxRoot | undefined;
  /**
   * Further host paths to mount, in order, before those of a call. Default none. They apply to commands, not
   * to processes that the host starts itself.
   */
  mounts: NativeMount[];
  /** Character devices of the host that commands may use: paths below /dev, and names of families. Default none. */
  devices?: readonly string[] | undefined;
  /** Mount a minimal /dev. Default true. */
  devBind: boolean;
  /** Mount a private /proc. Default true. */
  procBind: boolean;
  /** True if commands may write to the workspace. Default true. */
  allowWriteWorkspace: boolean;
  /** Options for bwrap, passed verbatim. Default none. */
  extraArgs: string[];
  /** Where commands see the workspace. Default "/workspace". */
  workspacePath?: WorkspacePathMode | undefined;
  /** The home of commands. Default "private". */
  home?: SandboxHome | undefined;
  /** The host's tools that commands find. Default "host" if `roBinds` is the default and `root` is not set, else "none". */
  tools?: SandboxTools | undefined;
  /** The host's package caches that commands find, copy-on-write. Default "none". */
  caches?: SandboxCaches | undefined;
  /** Most bytes that the transactions of the workspace hold together; an integer >= 1. Default: no bound. */
  maxTransactionBytes?: number | undefined;
  /** The isolation mode. Default "strict". */
  isolation: IsolationMode;
  /** Additional security layers inside the sandbox. Default none. */
  layers: "landlock"[];
  /** Overrides the common `network`. Default: the common one. */
  network?: BubblewrapNetwork | undefined;
};

/**
 * The shell lists; see `checkShellCommand`. They are advisory; the sandbox is the security boundary. With these
 * defaults, what the built-in block list finds is a warning; once one field is set, it is refused. The runtime
 * `native`, which confines nothing, always refuses it.
 */
export type SecurityConfig = {
  /** Commands that may run. Default none. */
  shellAllowlist: string[];
  /**
   * "off" (default): no allow list; "warn": report unlisted commands; "strict": refuse unlisted commands.
   */
  shellAllowlistMode: ShellAllowlistMode;
  /** Additional commands to refuse. Default none. */
  shellBlocklist: string[];
  /** Rule classes of the block list to disable; the others refuse. Default none. */
  disabledShellRules: ShellBlockRule[];
};

/** The configuration of the runtimes. */
export type RuntimeConfig = {
  /** The runtime. "auto" (default): the strongest that is proved to work here. */
  runtimeType: RuntimeType;
  /** Run unconfined, with a warning, if no other runtime works. Default false. */
  allowFallbackToNative: boolean;
  /**
   * The network of commands. Default "deny". Rules by domain require the Bubblewrap runtime: the others
   * refuse them, and do not fall back to a runtime that confines nothing.
   */
  network: BubblewrapNetwork;
  /** Names of layers that must be in force. Default none. */
  required: string[];
  /** Options of the Landlock runtime. */
  landlock: LandlockConfig;
  /** Options of the Firejail runtime. */
  firejail: FirejailConfig;
  /** Options of the Bubblewrap runtime. */
  bubblewrap: BubblewrapConfig;
  /** The shell lists. */
  security: SecurityConfig;
};

type Loose<Fields> = {
  [Name in keyof Fields]?:
    | (Fields[Name] extends (infer Item)[] ? readonly Item[] : Fields[Name])
    | undefined;
};

/** A configuration in which every field may be omitted. */
export type RuntimeConfigInput = Loose<
  Omit<RuntimeConfig, "landlock" | "firejail" | "bubblewrap" | "security">
> & {
  /** Options of the Landlock runtime. */
  landlock?: Loose<LandlockConfig> | undefined;
  /** Options of the Firejail runtime. */
  firejail?: Loose<FirejailConfig> | undefined;
  /** Options of the Bubblewrap runtime. */
  bubblewrap?: Loose<BubblewrapConfig> | undefined;
  /** The shell lists. */
  security?: Loose<SecurityConfig> | undefined;
};
