/** The public types of sessions and batches; shipped and re-exported like public.d.ts. */

import type {
  ForwardOptions,
  NativeRunner,
  NativeSpawnInput,
  PortForward,
  RunnerExecInput,
  SandboxedExecResult,
  SandboxProcess,
  WaitForPortOptions,
} from "./public.js";

/** Options of `openSession`. */
export type SessionOptions = {
  /** Milliseconds without a command after which the session ends, > 0. Default 300 000; `Infinity` = never. */
  idleTimeoutMs?: number | undefined;
  /** Number of commands after which the session ends, an integer >= 1. Default: no limit. */
  maxCommands?: number | undefined;
  /**
   * Size limit in bytes of the private /tmp that the commands share, an integer >= 1. Default: no limit. The
   * session is refused if it has no private /tmp (Landlock), or if bwrap lacks --size and can't limit it.
   */
  tmpBytes?: number | undefined;
  /**
   * If true, shell commands (`["bash", "-c", script, …]`, also sh, dash, ash; `-lc` and similar) pass their
   * working directory, variables and, in bash, functions on to the next command; bash keeps its variables
   * separate from those of other shells. A command that is not a shell also starts in that directory. The
   * `cwd` and `env` of a call apply on top of that state and are not passed on. The state that a command
   * leaves is kept only if its shell reached its end and the state is at most 1 MiB; it is not kept after a
   * deadline, `exec`, or an EXIT trap of the command's own. The shell has one additional descriptor for this,
   * 83. Default false.
   */
  shell?: boolean | undefined;
  /**
   * An open session with `shell`, of the same runner, or, in a fork, of the transaction that it was forked from. The
   * commands of the new session begin as that session's next command would: in its directory, with its variables and
   * functions. Commands that run there are not waited for, and what they have not left yet does not go along. Implies
   * `shell`. Default: none.
   */
  from?: NativeSession | undefined;
};

/**
 * Resources that the commands of one session share. Always shared: the workspace, /tmp, the network, System V
 * IPC and POSIX message queues, a process list with command lines, and, if the policy lets commands see
 * /dev/pts (Bubblewrap), the terminals of those that have one. "limits" is always shared too: one command can
 * lower the limits and priority of another (prlimit(2), setpriority(2)), and `maxProcesses` counts the
 * processes of all commands. "signals" is shared if one command can signal and trace another
 * ("command-separation" is then missing among the layers).
 */
export type SessionShare =
  | "workspace"
  | "tmp"
  | "network"
  | "ipc"
  | "process-list"
  | "terminals"
  | "limits"
  | "signals";

/**
 * One sandbox that is kept for many commands. Each command has its own pipes, environment, limits, deadline,
 * usage, audit record and end: ending its processes leaves the session and its other commands running.
 * Commands may run concurrently.
 */
export interface NativeSession extends NativeRunner, AsyncDisposable {
  /**
   * Runs one command, like `exec` of a runner.
   *
   * @throws (rejects) like a runner's `exec`; {@link SandboxError} ERR_SANDBOX_CLOSED, with the reason, if
   * the session has ended.
   */
  exec(input: RunnerExecInput): Promise<SandboxedExecResult>;
  /**
   * Starts a command that runs concurrently with others, such as a development server, until it ends or is
   * stopped or the session ends. Like `spawn` of a runner, in this sandbox.
   *
   * @throws (rejects) like `exec`. A failed start is an outcome in `result`.
   */
  start(input: NativeSpawnInput): Promise<SandboxProcess>;
  /**
   * Resolves when any command of the session listens on a TCP port; see {@link SandboxProcess.waitForPort}.
   *
   * @throws (rejects) like that method; ERR_SANDBOX_CLOSED if the session has ended.
   */
  waitForPort(port: number, options?: WaitForPortOptions): Promise<void>;
  /**
   * Makes a port of the host's loopback lead to a TCP port of the session, until the session has ended; see
   * {@link SandboxProcess.forward}.
   *
   * @throws (rejects) like that method; ERR_SANDBOX_CLOSED if the session has ended.
   */
  forward(port: number, options?: ForwardOptions): Promise<PortForward>;
  /** The layers in force for each command of the session. */
  readonly layers: readonly string[];
  /** Resources that the commands of the session share. */
  readonly shares: readonly SessionShare[];
  /** False once the session is known to have ended. */
  readonly isOpen: boolean;
  /**
   * Resolves with the reason when all processes of the session are known to be gone. Reasons: it was closed,
   * was idle, has run its maximum of commands, or could no longer be trusted (its first process died, or the
   * end of a command could not be proved). Does not keep Node running; never rejects.
   */
  readonly ended: Promise<string>;
  /** Aborts running commands, ends all processes of the session, and resolves when their end is proved. */
  close(): Promise<void>;
}

/** Options of `execBatch`. */
export type BatchOptions = {
  /**
   * If true, the first command that does not exit with 0 is the last to run; the rest are "aborted". Default
   * false.
   */
  stopOnError?: boolean | undefined;
  /** See {@link SessionOptions}. */
  shell?: boolean | undefined;
  /** See {@link SessionOptions}. */
  tmpBytes?: number | undefined;
  /** Aborting it ends the running command and prevents the rest from starting: all of these are "aborted". */
  signal?: AbortSignal | undefined;
};
