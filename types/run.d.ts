/**
 * The public types of one run; shipped and re-exported like public.d.ts.
 *
 * Fields that the earlier JavaScript package did not have are optional in {@link NativeExecResult} and
 * {@link NativeAuditRecord}, so a host's own runner that returns only the old fields is still a
 * {@link NativeRunner}. The runners of this package return {@link SandboxedExecResult}, in which every field is set,
 * except those that are optional there.
 */

import type { Denial, ExplainMode } from "./denials.js";
import type { Lease } from "./lease.js";
import type { HttpRequestRecord, NetworkConnection } from "./network.js";
import type { Outcome } from "./outcome.js";
import type { KillProof, RunTiming } from "./run-timing.js";

/** Which bytes of a stream are kept when it exceeds its limit. */
export type OutputKeep = "head" | "head+tail";

/**
 * "separate": standard error is its own stream. "merge": `stdout` holds the bytes written to both streams, in
 * the order in which they were written; the limits of `stdout` and `onStdout` apply to them, and `stderr` is
 * empty.
 */
export type StderrMode = "separate" | "merge";

/** Resource limits of one run. An omitted limit is not set, unless a default is named. */
export type NativeLimits = {
  /**
   * Bytes of standard output to keep, an integer >= 0. Further bytes are read, counted and dropped. Default 1
   * MiB.
   */
  maxStdoutBytes?: number | undefined;
  /** Bytes of standard error to keep, an integer >= 0. Default 1 MiB. */
  maxStderrBytes?: number | undefined;
  /**
   * Milliseconds from the start of the run until it is ended by SIGKILL, > 0. Default 60 000; `Infinity` = no
   * deadline.
   */
  timeoutMs?: number | undefined;
  /** "head" keeps the first bytes; "head+tail" keeps the first and the last half. Default "head". */
  keep?: OutputKeep | undefined;
  /** Bytes of memory: of the whole process tree by cgroup v2, otherwise of each process by RLIMIT_DATA. */
  memoryBytes?: number | undefined;
  /** Seconds of CPU time of each process (RLIMIT_CPU), an integer >= 0. */
  cpuSeconds?: number | undefined;
  /** Number of processes and threads (cgroup v2 pids.max, otherwise RLIMIT_NPROC). */
  maxProcesses?: number | undefined;
  /** Open descriptors per process (RLIMIT_NOFILE). Default in a sandbox: the host's, less a quarter or 4,096. */
  maxOpenFiles?: number | undefined;
  /** Bytes of the largest file that a process may write (RLIMIT_FSIZE). */
  maxFileBytes?: number | undefined;
  /**
   * The run's share of the CPUs while others want them too, as a weight: an integer from 1 to 10 000, of which a run
   * without one, and this process, have 100 (cgroup v2 cpu.weight). The outcome is "setup-failed" where no cgroup with
   * the cpu controller is delegated, and in a session.
   */
  cpuShare?: number | undefined;
  /**
   * The same of the disk that the workspace is on: an integer from 1 to 1 000 (cgroup v2 io.weight or io.bfq.weight).
   * The outcome is "setup-failed" where nothing divides that disk by weights.
   */
  ioShare?: number | undefined;
  /**
   * Bytes on disk and in memory that the run may add to the workspace, its home and `/tmp` together. A run that adds
   * more is ended; the outcome is "limit-exceeded".
   */
  writeBytes?: number | undefined;
  /**
   * Bytes that stay free on the file systems of the workspace, the home and the writable mounts. A run is ended when
   * less is free, whoever has written; the outcome is "limit-exceeded". "setup-failed" if less is free before the run.
   */
  reserveBytes?: number | undefined;
};

/** One command to run. Read and copied once, when `exec` is called. */
export type NativeExecInput = {
  /** The program and its arguments; `argv[0]` must not be empty. No shell is involved. */
  argv: string[];
  /** Directory to start in, relative to the workspace. Default: the root of the workspace. */
  cwd?: string | undefined;
  /** Variables for the command, in addition to those that the runner's `envPolicy` passes. Always passed. */
  env?: Record<string, string> | undefined;
  /** Standard input, followed by end of file. A string is sent as UTF-8. Default: end of file at once. */
  stdin?: Uint8Array | string | undefined;
  /** Destination of standard error. Default "separate". */
  stderr?: StderrMode | undefined;
  /** Resource limits of the run. */
  limits?: NativeLimits | undefined;
  /**
   * The run continues only while this lease is renewed: see {@link Lease}. If the lease has expired before
   * the command could start, no command is started. Default: none.
   */
  lease?: Lease | undefined;
  /**
   * Also reports the files, programs and addresses that the sandbox refused: see {@link Denial}. The command
   * is traced (ptrace(2)), so a debugger does not work in it, and failing system calls take a few times as
   * long. "lookups" also reports files that the command only looked for, for example with stat(2), access(2)
   * or readlink(2): build tools and interpreters skip a directory that they do not find and never open it.
   * This costs one stop of the command per lookup. Default false.
   */
  explain?: ExplainMode | undefined;
  /**
   * Aborting it ends the run and all its processes; the outcome is then "aborted". If it was aborted before
   * the call, no command is started.
   */
  signal?: AbortSignal | undefined;
  /**
   * Called with the chunks of standard output as they arrive, in order, up to `maxStdoutBytes`. Its return
   * value is ignored. If it throws, the run is aborted and `exec` rejects with that error.
   */
  onStdout?: ((chunk: Uint8Array) => void) | undefined;
  /** Like `onStdout`, for standard error. */
  onStderr?: ((chunk: Uint8Array) => void) | undefined;
};

/**
 * The input of this package's runners: any {@link NativeExecInput}, and variables as `process.env` has them.
 * Those whose value is undefined are left out.
 */
export type RunnerExecInput = Omit<NativeExecInput, "env"> & {
  /** See {@link NativeExecInput.env}. */
  env?: Readonly<Record<string, string | undefined>> | undefined;
};

/** Resource usage of a run: of the command and all its descendants that were waited for. */
export type Usage = {
  /** CPU time in user mode, in milliseconds. */
  userCpuMs: number;
  /** CPU time in the kernel, in milliseconds. */
  systemCpuMs: number;
  /** Largest resident set of one process, in bytes. */
  peakMemoryBytes: number;
};

/**
 * Origin of a run's sandbox. "cold": created for the run, or the run had no sandbox. "cloned": cloned for the
 * run from a template, a sandbox with the runner's policy that runs no command. "prewarmed": created, or at
 * least begun, before the command was known; created anew or cloned. "session": the sandbox of a session.
 */
export type SandboxStart = "cold" | "cloned" | "prewarmed" | "session";

/**
 * The namespaces of a run's sandbox. "new": all were made for it. "reused": a cloned sandbox before it had its
 * network namespace, without connections to anything (`network: "deny"`), and left nothing in it; all others
 * were made for it.
 */
export type SandboxNamespaces = "new" | "reused";

/** The audit record of one run. Survives `JSON.stringify`. */
export type NativeAuditRecord = {
  /** Distinguishes the record from other kinds. */
  kind: "native.exec";
  /**
   * The program that the host started: `bwrapPath` as given, or the command itself if there is no sandbox.
   */
  cmd: string;
  /**
   * The arguments of `cmd`; for Bubblewrap its options, with the real path of the workspace, "--" and the
   * command.
   */
  argv: string[];
  /** The directory in which the command started, as the command saw it. */
  cwd?: string | undefined;
  /** Milliseconds from the start of the run to its proved end. */
  durationMs: number;
  /** True if the deadline ended the run. */
  timedOut: boolean;
  /** Name of the signal that ended the command, such as "SIGKILL"; null if no signal did. */
  signal?: string | null | undefined;
  /** True if more bytes were written to standard output than were kept. */
  truncatedStdout: boolean;
  /** Like `truncatedStdout`, for standard error. */
  truncatedStderr: boolean;
  /** "bubblewrap", "landlock", "firejail" or "local". New. */
  runtime?: string | undefined;
  /** The layers that were in force, such as "seccomp". New. */
  layers?: string[] | undefined;
  /** SHA-256 (hex) of the policy's canonical text; equal policies have equal hashes. New. */
  policyHash?: string | undefined;
  /** How the run ended. New, like all fields below. */
  outcome?: Outcome["kind"] | undefined;
  /** Resource usage of the run. */
  usage?: Usage | undefined;
  /** How the run's time was spent. */
  timing?: RunTiming | undefined;
  /** Origin of the sandbox. */
  start?: SandboxStart | undefined;
  /** Why a run that could have been cloned was cold. */
  coldReason?: string | undefined;
  /** Whether another sandbox had the network namespace before. */
  namespaces?: SandboxNamespaces | undefined;
  /** True if the sandbox was created, or at least begun, before the command was known. */
  prewarmed?: boolean | undefined;
  /** Set if processes had to be killed; null otherwise. */
  kill?: KillProof | null | undefined;
  /** The connections of a run with a network by domain. */
  connections?: NetworkConnection[] | undefined;
  /** Number of connections that are not listed. */
  connectionsOmitted?: number | undefined;
  /** The forwards that were open during the run. */
  forwards?: ForwardRecord[] | undefined;
  /** The requests to hosts with secrets or rules; the first 1,000. */
  requests?: HttpRequestRecord[] | undefined;
  /** Number of requests that are not listed. */
  requestsOmitted?: number | undefined;
  /** Accesses that the sandbox refused. */
  denials?: Denial[] | undefined;
  /** Number of denials that are not listed. */
  denialsOmitted?: number | undefined;
};

/** A port of the host that led to a sandbox, and what came of its connections during a run. */
export type ForwardRecord = {
  /** The port in the sandbox. */
  port: number;
  /** The address of the host that it listened on. */
  host: string;
  /** The port of the host. */
  hostPort: number;
  /** Connections of the host's clients, the refused and the failed ones among them. */
  connections: number;
  /** Requests that were refused, since their Host field named no loopback. */
  refused: number;
  /** Connections that nothing in the sandbox took. */
  failed: number;
  /** Bytes that the sandbox sent. */
  bytesOut: number;
  /** Bytes that the clients sent. */
  bytesIn: number;
};

/** The result of any {@link NativeRunner}. */
export type NativeExecResult = {
  /** Exit code of the command; see {@link Outcome} for its value if the command did not end by itself. */
  exitCode: number;
  /** The bytes of standard output that were kept. */
  stdout: Uint8Array;
  /** Like `stdout`, for standard error. */
  stderr: Uint8Array;
  /** True if more bytes were written than were kept; an exact fit is not truncated. */
  truncatedStdout: boolean;
  /** Like `truncatedStdout`, for standard error. */
  truncatedStderr: boolean;
  /** How the run ended. New. */
  outcome?: Outcome | undefined;
  /** Number of bytes that the command wrote, kept or not. New. */
  stdoutBytes?: number | undefined;
  /** Like `stdoutBytes`, for standard error. New. */
  stderrBytes?: number | undefined;
  /** Resource usage of the run. New. */
  usage?: Usage | undefined;
  /** The run's audit records; exactly one from this package's runners. */
  audits?: NativeAuditRecord[] | undefined;
  /** See {@link SandboxedExecResult}. New. */
  readonly stdoutText?: string | undefined;
  /** See {@link SandboxedExecResult}. New. */
  readonly stderrText?: string | undefined;
  /** Set only in a shell session. New. */
  shellState?: ShellStateReport | undefined;
  /** See {@link SandboxedExecResult}. New. */
  denials?: Denial[] | undefined;
  /** See {@link SandboxedExecResult}. New. */
  denialsOmitted?: number | undefined;
};

/**
 * Shell state that a command of a shell session took over from the previous command and passed on to the
 * next. Check it before a command that must run in the directory, and with the variables, that you expect.
 */
export type ShellStateReport = {
  /**
   * `"kept"`: the next command starts with the directory, the variables and the functions that this command
   * left. `"lost"`: this command left state that could not be kept, so the next starts as this one did.
   * `"unchanged"`: this command is not a shell, or was not started, so no state was left to keep.
   */
  status: "kept" | "lost" | "unchanged";
  /** Why the state is `"lost"`, as a clause; absent otherwise. */
  reason?: string;
  /**
   * The directory that the previous command left, if this command could not enter it and therefore started in
   * the workspace; absent otherwise.
   */
  lostDirectory?: string;
};

/** The audit record of this package's runners; every required field is set. */
export type SandboxedAuditRecord = {
  /** Distinguishes the record from other kinds. */
  kind: "native.exec";
  /** The program that the host started: `bwrapPath` as given, or the command itself. */
  cmd: string;
  /** The arguments of `cmd`; for Bubblewrap its options, "--" and the command. */
  argv: string[];
  /** The directory in which the command started, as the command saw it. */
  cwd?: string;
  /** Milliseconds from the start of the run to its proved end. */
  durationMs: number;
  /** True if the deadline ended the run. */
  timedOut: boolean;
  /** Name of the signal that ended the command, such as "SIGKILL"; null if no signal did. */
  signal: string | null;
  /** True if more bytes were written to standard output than were kept. */
  truncatedStdout: boolean;
  /** Like `truncatedStdout`, for standard error. */
  truncatedStderr: boolean;
  /** "bubblewrap", "landlock", "firejail" or "local". */
  runtime: string;
  /** The layers that were in force, such as "seccomp". */
  layers: string[];
  /** SHA-256 (hex) of the policy's canonical text; equal policies have equal hashes. */
  policyHash: string;
  /** How the run ended; see {@link Outcome}. */
  outcome: Outcome["kind"];
  /** Resource usage of the run. */
  usage: Usage;
  /** How the run's time was spent. */
  timing: RunTiming;
  /** Origin of the sandbox; "cold" for runners that neither clone nor prewarm. */
  start: SandboxStart;
  /** Why a run was cold although its runner clones (`clone: "auto"`), as a clause; absent otherwise. */
  coldReason?: string;
  /** See {@link SandboxNamespaces}; absent if the sandbox shares the host's network. */
  namespaces?: SandboxNamespaces;
  /** True if `start` is "prewarmed". */
  prewarmed: boolean;
  /**
   * Set if processes had to be killed: tells if all of them are known to be gone. Null if nothing had to be
   * killed.
   */
  kill: KillProof | null;
  /** The id of the transaction that the command ran in; absent outside of a transaction. */
  transaction?: string;
  /**
   * Connections that the command made or was refused, in the order in which they began; at most 10 000.
   * Present only with a network by domain; empty if the command made no connections.
   */
  connections?: NetworkConnection[];
  /** Number of connections that are not listed; absent if all are listed. */
  connectionsOmitted?: number;
  /** Ports of the host that led to the sandbox during the run; absent if there were none. */
  forwards?: ForwardRecord[];
  /**
   * Requests to hosts with secrets or rules (`network.secrets`, `network.http`), in the order in which they were
   * answered; at most 1,000. Present only with either option.
   */
  requests?: HttpRequestRecord[];
  /** Number of requests that are not listed; absent if all are listed. */
  requestsOmitted?: number;
  /** Accesses that the sandbox refused; absent if it refused none. */
  denials?: Denial[];
  /** Number of denials that are not listed; absent if all are listed. */
  denialsOmitted?: number;
};

/**
 * The result of this package's runners: a {@link NativeExecResult} in which every field is set, except
 * `shellState` outside a shell session.
 */
export type SandboxedExecResult = {
  /** Exit code of the command; see {@link Outcome} for its value if the command did not end by itself. */
  exitCode: number;
  /** The bytes of standard output that were kept. */
  stdout: Uint8Array;
  /** The bytes of standard error that were kept. */
  stderr: Uint8Array;
  /** True if more bytes were written to standard output than were kept; an exact fit is not truncated. */
  truncatedStdout: boolean;
  /** Like `truncatedStdout`, for standard error. */
  truncatedStderr: boolean;
  /** How the run ended. */
  outcome: Outcome;
  /** Number of bytes written to standard output, kept or not. */
  stdoutBytes: number;
  /** Like `stdoutBytes`, for standard error. */
  stderrBytes: number;
  /** Resource usage of the run. */
  usage: Usage;
  /** Exactly one record. */
  audits: SandboxedAuditRecord[];
  /**
   * Accesses that the sandbox refused, each listed once, in the order of their first occurrence; at most 256.
   * Without `explain` it lists only refused connections of a network by domain, exceeded limits, and system
   * calls that the seccomp filter refused.
   */
  denials: Denial[];
  /** Number of denials that are not listed. */
  denialsOmitted: number;
  /**
   * `stdout` decoded as UTF-8, with U+FFFD for invalid bytes. Decoded on read; not enumerable, so a clone or
   * a spread copy of the result does not have it.
   */
  readonly stdoutText: string;
  /** Like {@link stdoutText}, for `stderr`. */
  readonly stderrText: string;
  /** Set in a shell session; absent elsewhere. */
  shellState?: ShellStateReport;
};

/** An object that runs commands: a runner of this package, or a host's own. */
export interface NativeRunner {
  /**
   * Runs one command. Resolves, with an outcome, however the run ends. Rejects on misuse and if no sandbox is
   * possible on this host.
   */
  exec(input: NativeExecInput): Promise<NativeExecResult>;
}
