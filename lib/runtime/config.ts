/** The configuration of the runtimes: its fields and their defaults. */

import type { BubblewrapNetwork, IsolationMode, NativeMount } from "../../types/public.js";
import type { ShellAllowlistMode, ShellBlockRule } from "../shell-policy/policy.js";
import type { RuntimeType } from "./runtime.js";

/** Options of the Landlock runtime. */
export type LandlockConfig = {
  /** Directories that may be read. Default /usr, /lib, /lib64, /etc, /bin, /sbin, /tmp. */
  fsReadDirs: string[];
  /** Directories that may be written. Default /tmp. */
  fsWriteDirs: string[];
  /** Default true. */
  allowReadWorkspace: boolean;
  /** Default true. */
  allowWriteWorkspace: boolean;
};

/** Options of the Firejail runtime. */
export type FirejailConfig = {
  /** The program: a name looked up on PATH, or an absolute path. Default "firejail". */
  firejailPath: string;
  /** A profile file, which then confines files; null is --noprofile, the default. */
  profile: string | null;
  /** Directories that may be read. Default /usr, /lib, /lib64, /etc, /bin, /sbin. */
  fsReadDirs: string[];
  /** Directories that may be written. Default none. */
  fsWriteDirs: string[];
  /** Options for firejail, passed verbatim. Default none. */
  extraArgs: string[];
};

/** Options of the Bubblewrap runtime. */
export type BubblewrapConfig = {
  /** The program: a name looked up on PATH, or an absolute path. Default "bwrap". */
  bwrapPath: string;
  /**
   * Mounted read-only. Default /usr, /lib, /lib64, /etc, /bin and /sbin; a list that equals the
   * default leaves out what the host lacks, in another each must exist.
   */
  roBinds: string[];
  /**
   * Further host paths, in order, before those of a call. Default none. They are for commands, not
   * for processes that the host starts itself.
   */
  mounts: NativeMount[];
  /** Mount a minimal /dev. Default true. */
  devBind: boolean;
  /** Mount a private /proc. Default true. */
  procBind: boolean;
  /** Default true. */
  allowWriteWorkspace: boolean;
  /** Options for bwrap, passed verbatim. Default none. */
  extraArgs: string[];
  /** Default "strict". */
  isolation: IsolationMode;
  /** Further walls inside the sandbox. Default none. */
  layers: "landlock"[];
  /** In place of the common `network`. Default: that one. */
  network?: BubblewrapNetwork | undefined;
};

/** The shell lists; see `checkShellCommand`. They are advice, the sandbox is the boundary. */
export type SecurityConfig = {
  /** Commands that may run. Default none. */
  shellAllowlist: string[];
  /** "off" (default): the block list only; "warn": report; "strict": refuse what is not listed. */
  shellAllowlistMode: ShellAllowlistMode;
  /** More commands to refuse. Default none. */
  shellBlocklist: string[];
  /** Classes of the block list to leave out. Default none. */
  disabledShellRules: ShellBlockRule[];
};

/** What the runtimes are made from. */
export type RuntimeConfig = {
  /** Which runtime. "auto" (default): the strongest that is proved to work here. */
  runtimeType: RuntimeType;
  /** Run unconfined, with a warning, where no other runtime works. Default false. */
  allowFallbackToNative: boolean;
  /**
   * Default "deny". Rules by domain are for the Bubblewrap runtime: the others don't work with them, and
   * there is no fallback to one that confines nothing.
   */
  network: BubblewrapNetwork;
  /** Names of layers that must be in force. Default none. */
  required: string[];
  /** For the Landlock runtime. */
  landlock: LandlockConfig;
  /** For the Firejail runtime. */
  firejail: FirejailConfig;
  /** For the Bubblewrap runtime. */
  bubblewrap: BubblewrapConfig;
  /** The shell lists. */
  security: SecurityConfig;
};

type Loose<Fields> = {
  [Name in keyof Fields]?:
    | (Fields[Name] extends (infer Item)[] ? readonly Item[] : Fields[Name])
    | undefined;
};

/** A configuration in which anything may be left out. */
export type RuntimeConfigInput = Loose<
  Omit<RuntimeConfig, "landlock" | "firejail" | "bubblewrap" | "security">
> & {
  /** For the Landlock runtime. */
  landlock?: Loose<LandlockConfig> | undefined;
  /** For the Firejail runtime. */
  firejail?: Loose<FirejailConfig> | undefined;
  /** For the Bubblewrap runtime. */
  bubblewrap?: Loose<BubblewrapConfig> | undefined;
  /** The shell lists. */
  security?: Loose<SecurityConfig> | undefined;
};
