/** The public types of what wraps a host's own processes; shipped and re-exported as public.d.ts is. */

import type { BubblewrapNetworkMode, IsolationMode } from "./public.js";

/** A host directory for a wrapped process. */
export type ProcessSandboxMount = {
  /** A directory; there is nothing else yet. */
  kind: "dir";
  /** Names the mount in audits, and chooses the one to start in (`defaultCwdLabel`). */
  label?: string | undefined;
  /** Absolute, without "..". */
  hostPath: string;
  /** Where the process finds it; absolute, without "..". */
  guestPath: string;
  /** Whether the process may write there. */
  mode: "rw" | "ro";
};

/** A process that the host is about to start by itself. */
export type ProcessSandboxCommand = {
  /** A program, looked up inside the sandbox. */
  cmd: string;
  /** Its arguments, without its name. */
  args: string[];
  /** Passes through: to bwrap, and so to the process. */
  env: Record<string, string>;
  /** Passes through: the directory to start bwrap in. */
  cwd?: string | undefined;
  /** What the process sees of the host besides the sandbox's read-only paths. Default none. */
  mounts?: ProcessSandboxMount[] | undefined;
};

/** What to start in place of a command. A sandbox may leave `env` and `cwd` out: they stay. */
export type ProcessSandboxWrappedCommand = {
  /** The program to start. */
  cmd: string;
  /** Its arguments, without its name. */
  args: string[];
  /** Its variables. Default: the command's. */
  env?: Record<string, string> | undefined;
  /** The directory to start it in. Default: the command's. */
  cwd?: string | undefined;
};

/** Wraps the command line of a process that the host starts, such as a WASM engine's. */
export interface ProcessSandbox {
  /** In audits, such as "bubblewrap". */
  readonly name: string;
  /** Pure: starts nothing, looks nothing up, leaves its argument as it is. */
  wrap(command: ProcessSandboxCommand): ProcessSandboxWrappedCommand;
}

/** Options of `createBubblewrapProcessSandbox`. */
export type BubblewrapProcessSandboxOptions = {
  /** The bwrap program: a name, looked up by whoever starts it, or an absolute path. Default "bwrap". */
  bwrapPath?: string | undefined;
  /** Default "allow": a WASM engine's own network policy decides. Rules by domain are refused. */
  network?: BubblewrapNetworkMode | undefined;
  /**
   * Absolute host paths to mount read-only at the same path, in order; each must exist when the
   * process starts. Default /usr, /bin, /lib, /lib64, /etc.
   */
  roBinds?: readonly string[] | undefined;
  /** Where a private /proc appears. Default "/proc". */
  procPath?: string | undefined;
  /** Where a minimal /dev appears. Default "/dev". */
  devPath?: string | undefined;
  /** Where an empty private directory appears. Default "/tmp". */
  tmpPath?: string | undefined;
  /** Label of the mount to start in. Default "shadow-workspace". */
  defaultCwdLabel?: string | undefined;
  /** "compat": without the namespaces, dropped capabilities and read-only /proc. Default "strict". */
  isolation?: IsolationMode | undefined;
};

/** The record of a wrapped process. Survives `JSON.stringify`. */
export type SandboxAuditRecord = {
  /** Tells the record from others. */
  kind: "process-sandbox";
  /** The sandbox's name, such as "bubblewrap". */
  wrapperName: string;
  /** As started, but for host paths that read "<redacted>". */
  wrappedCmd: string;
  /** Its arguments, redacted as `wrappedCmd`. */
  wrappedArgs: string[];
  /** What was mounted, without host paths. */
  mounts: { label?: string | undefined; guestPath: string; mode: "rw" | "ro" }[];
};
