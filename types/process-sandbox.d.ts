/** The public types for wrapping a host's own processes; shipped and re-exported like public.d.ts. */

import type { BubblewrapNetworkMode, IsolationMode } from "./public.js";

/** A host directory for a wrapped process. */
export type ProcessSandboxMount = {
  /** A directory; no other kind is supported yet. */
  kind: "dir";
  /** Names the mount in audit records, and can select the directory to start in (`defaultCwdLabel`). */
  label?: string | undefined;
  /** Absolute, without "..". */
  hostPath: string;
  /** The path inside the sandbox; absolute, without "..". */
  guestPath: string;
  /** "rw": the process may write there. "ro": it may only read. */
  mode: "rw" | "ro";
};

/** A process that the host is about to start itself. */
export type ProcessSandboxCommand = {
  /** A program, looked up inside the sandbox. */
  cmd: string;
  /** Its arguments, without its name. */
  args: string[];
  /** Passed through to bwrap, and so to the process. */
  env: Record<string, string>;
  /** Passed through: the directory to start bwrap in. */
  cwd?: string | undefined;
  /** Host paths visible to the process besides the sandbox's read-only paths. Default none. */
  mounts?: ProcessSandboxMount[] | undefined;
};

/**
 * The command line to start instead of the original command. A sandbox may omit `env` and `cwd` to keep the
 * command's.
 */
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

/** Wraps the command line of a process that the host starts, such as that of a WASM engine. */
export interface ProcessSandbox {
  /** Name of the sandbox in audit records, such as "bubblewrap". */
  readonly name: string;
  /**
   * Returns the wrapped command line. Pure: starts nothing, looks nothing up, and does not change its
   * argument.
   */
  wrap(command: ProcessSandboxCommand): ProcessSandboxWrappedCommand;
}

/** Options of `createBubblewrapProcessSandbox`. */
export type BubblewrapProcessSandboxOptions = {
  /** The bwrap program: a name that the starting process looks up, or an absolute path. Default "bwrap". */
  bwrapPath?: string | undefined;
  /** Default "allow": the network policy of the WASM engine decides. Rules by domain are refused. */
  network?: BubblewrapNetworkMode | undefined;
  /**
   * Absolute host paths to mount read-only at the same path, in order; each must exist when the process
   * starts. Default /usr, /bin, /lib, /lib64, /etc.
   */
  roBinds?: readonly string[] | undefined;
  /** Mount point of a private /proc. Default "/proc". */
  procPath?: string | undefined;
  /** Mount point of a minimal /dev. Default "/dev". */
  devPath?: string | undefined;
  /** Mount point of an empty private directory. Default "/tmp". */
  tmpPath?: string | undefined;
  /** Label of the mount to start in. Default "shadow-workspace". */
  defaultCwdLabel?: string | undefined;
  /** "compat" omits the namespaces, the dropped capabilities and the read-only /proc. Default "strict". */
  isolation?: IsolationMode | undefined;
};

/** The audit record of a wrapped process. Survives `JSON.stringify`. */
export type SandboxAuditRecord = {
  /** Distinguishes the record from other kinds. */
  kind: "process-sandbox";
  /** The sandbox's name, such as "bubblewrap". */
  wrapperName: string;
  /** The started program; host paths are replaced by "<redacted>". */
  wrappedCmd: string;
  /** Its arguments, redacted like `wrappedCmd`. */
  wrappedArgs: string[];
  /** The mounts, without host paths. */
  mounts: { label?: string | undefined; guestPath: string; mode: "rw" | "ro" }[];
};
