/**
 * The public types of one run; shipped and re-exported as public.d.ts is.
 *
 * Fields that the JavaScript package of old did not know are optional in {@link NativeExecResult}
 * and {@link NativeAuditRecord}: a host's own runner that returns only the old fields is still a
 * {@link NativeRunner}. The runners of this package return {@link SandboxedExecResult}, in which
 * every field is always there.
 */

import type { Denial, ExplainMode } from "./denials.js";
import type { Lease } from "./lease.js";
import type { NetworkConnection } from "./network.js";
import type { Outcome } from "./outcome.js";
import type { KillProof, RunTiming } from "./run-timing.js";

/** Which bytes of a stream are kept when it is longer than its limit. */
export type OutputKeep = "head" | "head+tail";

/**
 * "separate": standard error has a stream of its own. "merge": what is written to either is in `stdout`,
 * in the order in which it was written, under the limits of `stdout` and to `onStdout`; `stderr` is empty.
 */
export type StderrMode = "separate" | "merge";

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
  /** Standard input, a string as UTF-8, followed by end of file. Default: end of file at once. */
  stdin?: Uint8Array | string | undefined;
  /** Where standard error goes. Default "separate". */
  stderr?: StderrMode | undefined;
  /** What the run may use. */
  limits?: NativeLimits | undefined;
  /**
   * The run goes on only while it is renewed: see {@link Lease}. Where it has expired before the command could
   * start, none is started. Default: none.
   */
  lease?: Lease | undefined;
  /**
   * Also tells which files, programs and addresses the sandbox has refused: see {@link Denial}. The command is
   * traced (ptrace(2)), so a debugger does not work in it, and system calls that fail take a few times as long.
   * "lookups": files that it has only looked for, too, as by stat(2), access(2) or readlink(2). Build tools and
   * interpreters leave out a directory that they don't find, and never open it; it costs a stop for each look.
   * Default false.
   */
  explain?: ExplainMode | undefined;
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

/** What a run used, of the command and all its descendants that were waited for. */
export type Usage = {
  /** CPU time in user mode, in milliseconds. */
  userCpuMs: number;
  /** CPU time in the kernel, in milliseconds. */
  systemCpuMs: number;
  /** Largest resident set of one process, in bytes. */
  peakMemoryBytes: number;
};

/**
 * Where a run's sandbox came from. "cold": it was made for the run, or the run had none. "cloned": it was
 * cloned for the run from a template, a sandbox of the runner's policy that runs no command. "prewarmed":
 * it was made, or at least begun, before the command was known, in either way. "session": it is a session's.
 */
export type SandboxStart = "cold" | "cloned" | "prewarmed" | "session";

/** The record of one run. Survives `JSON.stringify`. */
export type NativeAuditRecord = {
  /** Tells the record from others. */
  kind: "native.exec";
  /** The program that the host started (`bwrapPath` as given; the command itself without a sandbox). */
  cmd: string;
  /** The arguments of `cmd`; for Bubblewrap its options with the real workspace path, "--" and the command. */
  argv: string[];
  /** The directory in which the command started, as it saw it. */
  cwd?: string | undefined;
  /** Milliseconds from the start of the run to its proven end. */
  durationMs: number;
  /** Whether the deadline ended it. */
  timedOut: boolean;
  /** Name of the signal that ended the command, such as "SIGKILL"; null when none did. */
  signal?: string | null | undefined;
  /** Whether more was written to standard output than kept. */
  truncatedStdout: boolean;
  /** As `truncatedStdout`, of standard error. */
  truncatedStderr: boolean;
  /** "bubblewrap", "landlock", "firejail" or "local"; new. */
  runtime?: string | undefined;
  /** The layers that really were in force, such as "seccomp"; new. */
  layers?: string[] | undefined;
  /** SHA-256 (hex) of the policy's canonical text; equal policies have equal hashes. New. */
  policyHash?: string | undefined;
  /** New, as all below. */
  outcome?: Outcome["kind"] | undefined;
  /** What it used. */
  usage?: Usage | undefined;
  /** Where its time went. */
  timing?: RunTiming | undefined;
  /** Where the sandbox came from. */
  start?: SandboxStart | undefined;
  /** Why a run that might have been cloned was cold. */
  coldReason?: string | undefined;
  /** Whether the sandbox was made, or at least begun, before the command was known. */
  prewarmed?: boolean | undefined;
  /** Null when nothing had to be killed. */
  kill?: KillProof | null | undefined;
  /** With a network by domain. */
  connections?: NetworkConnection[] | undefined;
  /** Connections that are not listed. */
  connectionsOmitted?: number | undefined;
  /** What the sandbox has refused. */
  denials?: Denial[] | undefined;
  /** Denials that are not listed. */
  denialsOmitted?: number | undefined;
};

/** What any {@link NativeRunner} returns. */
export type NativeExecResult = {
  /** See {@link Outcome} for what it is when the command did not end by itself. */
  exitCode: number;
  /** The bytes that were kept. */
  stdout: Uint8Array;
  /** As `stdout`, of standard error. */
  stderr: Uint8Array;
  /** Whether more was written than kept; an exact fit is not truncated. */
  truncatedStdout: boolean;
  /** As `truncatedStdout`, of standard error. */
  truncatedStderr: boolean;
  /** New. */
  outcome?: Outcome | undefined;
  /** All bytes that the command wrote, kept or not; new. */
  stdoutBytes?: number | undefined;
  /** As `stdoutBytes`, of standard error. */
  stderrBytes?: number | undefined;
  /** New. */
  usage?: Usage | undefined;
  /** Its records; one from this package's runners. */
  audits?: NativeAuditRecord[] | undefined;
  /** As in {@link SandboxedExecResult}; new. */
  readonly stdoutText?: string | undefined;
  /** As in {@link SandboxedExecResult}; new. */
  readonly stderrText?: string | undefined;
  /** In a shell session only; new. */
  shellState?: ShellStateReport | undefined;
  /** As in {@link SandboxedExecResult}; new. */
  denials?: Denial[] | undefined;
  /** As in {@link SandboxedExecResult}; new. */
  denialsOmitted?: number | undefined;
};

/**
 * What a command of a shell session took on from the one before, and handed on to the next. Look at it before a
 * command that must not run in another directory, or with other variables, than you believe.
 */
export type ShellStateReport = {
  /**
   * `"kept"`: the next command starts with the directory, the variables and the functions that this one left.
   * `"lost"`: it left something that could not be kept, so the next starts as this one did. `"unchanged"`: this one
   * is no shell, or was not started: there is nothing to keep.
   */
  status: "kept" | "lost" | "unchanged";
  /** Why the state is `"lost"`, as a clause; absent otherwise. */
  reason?: string;
  /**
   * The directory that the command before left, when this one could not enter it and so started in the workspace;
   * absent otherwise.
   */
  lostDirectory?: string;
};

/** The audit record of this package's runners: nothing is missing. */
export type SandboxedAuditRecord = {
  /** Tells the record from others. */
  kind: "native.exec";
  /** The program that the host started: `bwrapPath` as given, or the command itself. */
  cmd: string;
  /** The arguments of `cmd`; for Bubblewrap its options, "--" and the command. */
  argv: string[];
  /** The directory in which the command started, as it saw it. */
  cwd?: string;
  /** Milliseconds from the start of the run to its proven end. */
  durationMs: number;
  /** Whether the deadline ended it. */
  timedOut: boolean;
  /** Name of the signal that ended the command, such as "SIGKILL"; null when none did. */
  signal: string | null;
  /** Whether more was written to standard output than kept. */
  truncatedStdout: boolean;
  /** As `truncatedStdout`, of standard error. */
  truncatedStderr: boolean;
  /** "bubblewrap", "landlock", "firejail" or "local". */
  runtime: string;
  /** The layers that really were in force, such as "seccomp". */
  layers: string[];
  /** SHA-256 (hex) of the policy's canonical text; equal policies have equal hashes. */
  policyHash: string;
  /** How the run ended; see {@link Outcome}. */
  outcome: Outcome["kind"];
  /** What it used. */
  usage: Usage;
  /** Where its time went. */
  timing: RunTiming;
  /** Where the sandbox came from; "cold" for runners that neither clone nor prewarm. */
  start: SandboxStart;
  /** Why a run of a runner that clones (`clone: "auto"`) was cold, as a clause; absent otherwise. */
  coldReason?: string;
  /** Whether `start` is "prewarmed". */
  prewarmed: boolean;
  /** Whether processes had to be killed, and are known to be gone; null when none had to be. */
  kill: KillProof | null;
  /** The id of the transaction that the command ran in; not there outside of one. */
  transaction?: string;
  /**
   * What it connected to or was refused, in the order in which that began; there with a network by
   * domain only, empty where it connected to nothing. At most 10 000.
   */
  connections?: NetworkConnection[];
  /** Connections beyond those that are listed; not there where none is missing. */
  connectionsOmitted?: number;
  /** What the sandbox has refused; not there where that is nothing. */
  denials?: Denial[];
  /** Denials beyond those that are listed; not there where none is missing. */
  denialsOmitted?: number;
};

/** What this package's runners return: a {@link NativeExecResult} in which nothing is missing. */
export type SandboxedExecResult = {
  /** The command's own; see {@link Outcome} for what it is when the command did not end by itself. */
  exitCode: number;
  /** The bytes of standard output that were kept. */
  stdout: Uint8Array;
  /** The bytes of standard error that were kept. */
  stderr: Uint8Array;
  /** Whether more was written to standard output than kept; an exact fit is not truncated. */
  truncatedStdout: boolean;
  /** As `truncatedStdout`, of standard error. */
  truncatedStderr: boolean;
  /** How the run ended. */
  outcome: Outcome;
  /** All bytes that were written to standard output, kept or not. */
  stdoutBytes: number;
  /** As `stdoutBytes`, of standard error. */
  stderrBytes: number;
  /** What the run used. */
  usage: Usage;
  /** One record. */
  audits: SandboxedAuditRecord[];
  /**
   * What the sandbox has refused, in the order in which it first did, each once; at most 256. Without
   * `explain`: connections of a network by domain, limits, and system calls that the filter refused.
   */
  denials: Denial[];
  /** How many more there were. */
  denialsOmitted: number;
  /**
   * `stdout` as UTF-8, U+FFFD for bytes that are none. Decoded when it is read; not enumerable, so that
   * a clone or a spread copy of the result has none.
   */
  readonly stdoutText: string;
  /** `stderr`, as {@link stdoutText}. */
  readonly stderrText: string;
  /** In a shell session; absent elsewhere. */
  shellState?: ShellStateReport;
};

/** Anything that runs commands: this package's runners, or a host's own. */
export interface NativeRunner {
  /**
   * Runs one command. Whatever happens to the run resolves, with an outcome; misuse and a sandbox
   * that can't exist on this host reject.
   */
  exec(input: NativeExecInput): Promise<NativeExecResult>;
}
