/**
 * The public types. Shipped as they are and re-exported by lib/index.ts; no code lives here.
 *
 * Optional fields accept `undefined` too, so that hosts compiled with `exactOptionalPropertyTypes`
 * can hand on what they do not have. Fields that the JavaScript package of old did not know are
 * optional in {@link NativeExecResult} and {@link NativeAuditRecord}: a host's own runner that
 * returns only the old fields is still a {@link NativeRunner}. The runners of this package return
 * {@link SandboxedExecResult}, in which every field is always there.
 */

import type { KillProof, RunTiming } from "./run-timing.js";

export type {
  NativeSpawnInput,
  NativeSpawnLimits,
  SandboxProcess,
  TerminalOptions,
  TerminalSize,
} from "./live-process.js";

/** Which bytes of a stream are kept when it is longer than its limit. */
export type OutputKeep = "head" | "head+tail";

/** What one run may use. A limit that is left out is not set, unless a default is named. */
export type NativeLimits = {
  /** Bytes of standard output to keep, an integer >= 0. Default 1 MiB. What is over is drained and counted. */
  maxStdoutBytes?: number | undefined;
  /** Bytes of standard error to keep, an integer >= 0. Default 1 MiB. */
  maxStderrBytes?: number | undefined;
  /** Milliseconds from the start of the run to its end by SIGKILL, > 0. Default 60 000; `Infinity` = no deadline. */
  timeoutMs?: number | undefined;
  /** Keep the first bytes, or the first and the last half. Default "head". */
  keep?: OutputKeep | undefined;
  /** Bytes of memory: of the whole process tree by cgroup v2, else of each process by RLIMIT_DATA. */
  memoryBytes?: number | undefined;
  /** Seconds of CPU time of each process (RLIMIT_CPU), an integer >= 0. */
  cpuSeconds?: number | undefined;
  /** Processes and threads (cgroup v2 pids.max, else RLIMIT_NPROC). */
  maxProcesses?: number | undefined;
  /** Open descriptors of each process (RLIMIT_NOFILE). */
  maxOpenFiles?: number | undefined;
  /** Bytes of the largest file that a process may write (RLIMIT_FSIZE). */
  maxFileBytes?: number | undefined;
};

/** One command to run. Read and copied once, when `exec` is called. */
export type NativeExecInput = {
  /** The program and its arguments; `argv[0]` must not be empty. No shell is involved. */
  argv: string[];
  /** Directory to start in, relative to the workspace. Default: the workspace's root. */
  cwd?: string | undefined;
  /** Variables for the command, on top of what the runner's `envPolicy` lets through. Always passed. */
  env?: Record<string, string> | undefined;
  /** Standard input, followed by end of file. Default: end of file at once. */
  stdin?: Uint8Array | undefined;
  /** What the run may use. */
  limits?: NativeLimits | undefined;
  /**
   * Aborting it ends the run and all its processes; the outcome is then "aborted". Where it was aborted
   * before the call, nothing is started.
   */
  signal?: AbortSignal | undefined;
  /**
   * Called with the pieces of standard output as they come, in order, up to `maxStdoutBytes`. What
   * it returns is ignored. If it throws, the run is aborted and `exec` rejects with that error.
   */
  onStdout?: ((chunk: Uint8Array) => void) | undefined;
  /** As `onStdout`, for standard error. */
  onStderr?: ((chunk: Uint8Array) => void) | undefined;
};

/** How a run ended. The first cause wins. */
export type Outcome =
  /** The command ended by itself; `exitCode` is its own. */
  | { kind: "exited" }
  /** A signal ended the command; `exitCode` is 128 + its number. */
  | { kind: "signaled"; signal: string }
  /** The deadline passed; `exitCode` is 124. */
  | { kind: "timed-out" }
  /** `signal` was aborted; `exitCode` is 130. */
  | { kind: "aborted" }
  /** There is no such program; `exitCode` is 127. */
  | { kind: "not-found" }
  /** The program can't be executed; `exitCode` is 126. */
  | { kind: "not-executable" }
  /** The sandbox could not be built and the command never ran; `exitCode` is 125. */
  | { kind: "setup-failed"; reason: string; fix?: string }
  /** A resource limit ended the command; `exitCode` is 128 + the signal's number, or 137. */
  | { kind: "limit-exceeded"; limit: keyof NativeLimits };

/** What a run used, of the command and all its descendants that were waited for. */
export type Usage = {
  /** CPU time in user mode, in milliseconds. */
  userCpuMs: number;
  /** CPU time in the kernel, in milliseconds. */
  systemCpuMs: number;
  /** Largest resident set of one process, in bytes. */
  peakMemoryBytes: number;
};

/** The record of one run. Survives `JSON.stringify`. */
export type NativeAuditRecord = {
  kind: "native.exec";
  /** The program that the host started (`bwrapPath` as given; the command itself without a sandbox). */
  cmd: string;
  /** The arguments of `cmd`; for Bubblewrap its options with the real workspace path, "--" and the command. */
  argv: string[];
  cwd?: string | undefined;
  /** Milliseconds from the start of the run to its proven end. */
  durationMs: number;
  timedOut: boolean;
  /** Name of the signal that ended the command, such as "SIGKILL"; null when none did. */
  signal?: string | null | undefined;
  truncatedStdout: boolean;
  truncatedStderr: boolean;
  /** "bubblewrap", "landlock", "firejail" or "local"; new. */
  runtime?: string | undefined;
  /** The layers that really were in force, such as "seccomp"; new. */
  layers?: string[] | undefined;
  /** SHA-256 (hex) of the policy's canonical text; equal policies have equal hashes. New. */
  policyHash?: string | undefined;
  /** New, as all below. */
  outcome?: Outcome["kind"] | undefined;
  usage?: Usage | undefined;
  timing?: RunTiming | undefined;
  /** Whether the sandbox was made, or at least begun, before the command was known. */
  prewarmed?: boolean | undefined;
  /** Null when nothing had to be killed. */
  kill?: KillProof | null | undefined;
};

/** What any {@link NativeRunner} returns. */
export type NativeExecResult = {
  /** See {@link Outcome} for what it is when the command did not end by itself. */
  exitCode: number;
  /** The bytes that were kept. */
  stdout: Uint8Array;
  stderr: Uint8Array;
  /** Whether more was written than kept; an exact fit is not truncated. */
  truncatedStdout: boolean;
  truncatedStderr: boolean;
  /** New. */
  outcome?: Outcome | undefined;
  /** All bytes that the command wrote, kept or not; new. */
  stdoutBytes?: number | undefined;
  stderrBytes?: number | undefined;
  /** New. */
  usage?: Usage | undefined;
  audits?: NativeAuditRecord[] | undefined;
};

/** The audit record of this package's runners: nothing is missing. */
export type SandboxedAuditRecord = {
  kind: "native.exec";
  cmd: string;
  argv: string[];
  cwd?: string;
  durationMs: number;
  timedOut: boolean;
  signal: string | null;
  truncatedStdout: boolean;
  truncatedStderr: boolean;
  runtime: string;
  layers: string[];
  policyHash: string;
  outcome: Outcome["kind"];
  usage: Usage;
  timing: RunTiming;
  prewarmed: boolean;
  kill: KillProof | null;
};

/** What this package's runners return: a {@link NativeExecResult} in which nothing is missing. */
export type SandboxedExecResult = {
  exitCode: number;
  stdout: Uint8Array;
  stderr: Uint8Array;
  truncatedStdout: boolean;
  truncatedStderr: boolean;
  outcome: Outcome;
  stdoutBytes: number;
  stderrBytes: number;
  usage: Usage;
  /** One record. */
  audits: SandboxedAuditRecord[];
};

/** Anything that runs commands: this package's runners, or a host's own. */
export interface NativeRunner {
  /**
   * Runs one command. Whatever happens to the run resolves, with an outcome; misuse and a sandbox
   * that can't exist on this host reject.
   */
  exec(input: NativeExecInput): Promise<NativeExecResult>;
}

/** "deny": only a private loopback. "allow": the host's network. */
export type NetworkMode = "allow" | "deny";

/** {@link NetworkMode} by its older name. */
export type BubblewrapNetworkMode = NetworkMode;

/** "strict": all layers. "compat": only the classic Bubblewrap flags, for hosts that refuse the rest. */
export type IsolationMode = "strict" | "compat";

/**
 * Which of the host's variables a command gets. "scrub": all but those that carry secrets or steer
 * loaders. "inherit": all. "clean": none. A list: these names only.
 */
export type EnvironmentPolicy = "scrub" | "inherit" | "clean" | readonly string[];

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
};

/** Options of `BubblewrapNativeRunner`. */
export type BubblewrapNativeRunnerOptions = RunnerOptions & {
  /** The bwrap program: a name looked up on the host's PATH, or an absolute path. Default "bwrap". */
  bwrapPath?: string | undefined;
  /**
   * Absolute host paths to mount read-only at the same path, in order. Default /usr, /bin, /lib,
   * /lib64 and /etc, of which one that the host lacks is skipped; a named one must exist.
   */
  roBinds?: readonly string[] | undefined;
  /** Default "deny". */
  network?: BubblewrapNetworkMode | undefined;
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
  /** Milliseconds without a run after which the standing sandboxes go away, >= 1. Default 60 000. */
  prewarmIdleMs?: number | undefined;
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
export type LandlockNativeRunnerOptions = RunnerOptions & {
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
export type LocalNativeRunnerOptions = RunnerOptions;

/** Options of `buildBubblewrapArgv`. */
export type BubblewrapArgvOptions = {
  bwrapPath: string;
  shadowDir: string;
  commandArgv: readonly string[];
  /** As {@link NativeExecInput.cwd}. */
  cwd?: string | undefined;
  network: BubblewrapNetworkMode;
  /** Default /usr, /bin, /lib, /lib64, /etc. */
  roBinds?: readonly string[] | undefined;
};

/** A program and its arguments. */
export type BubblewrapCommand = { cmd: string; args: string[] };

/** What `BubblewrapNativeRunner.explain` tells about a run that it does not start. */
export type BubblewrapExplanation = BubblewrapCommand & {
  /** The layers that the run would ask for. */
  layers: string[];
  /** Names (never values) of the variables that the command would get. */
  environment: string[];
  /** SHA-256 (hex) of the policy's canonical text, as in the audit. */
  policyHash: string;
};

/**
 * Why a sandbox can't be had. ERR_SANDBOX_UNAVAILABLE: not Linux, no binary, no usable bwrap,
 * firejail or Landlock. ERR_SANDBOX_SETUP: the host refused something that every run needs.
 * ERR_SANDBOX_CLOSED: the runner was closed, or the Node environment is shutting down.
 * ERR_COMMAND_BLOCKED: the shell lists refuse the command.
 */
export type SandboxErrorCode =
  | "ERR_SANDBOX_UNAVAILABLE"
  | "ERR_SANDBOX_SETUP"
  | "ERR_SANDBOX_CLOSED"
  | "ERR_COMMAND_BLOCKED";
