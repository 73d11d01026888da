/** The public types of sessions and batches; shipped and re-exported as public.d.ts is. */

import type {
  NativeExecInput,
  NativeRunner,
  NativeSpawnInput,
  SandboxedExecResult,
  SandboxProcess,
  WaitForPortOptions,
} from "./public.js";

/** Options of `openSession`. */
export type SessionOptions = {
  /** Milliseconds without a command after which the session ends, > 0. Default 300 000; `Infinity` = never. */
  idleTimeoutMs?: number | undefined;
  /** Commands after which it ends, an integer >= 1. Default: no limit. */
  maxCommands?: number | undefined;
  /**
   * Bytes of the private /tmp that its commands share, an integer >= 1. Default: no limit. Where there is no
   * such /tmp (Landlock), or a bwrap without --size can't bound it, the session is refused.
   */
  tmpBytes?: number | undefined;
  /**
   * Whether shell commands (`["bash", "-c", script, …]`, also sh, dash, ash; `-lc` and the like) hand
   * on their working directory, variables and, in bash, functions to the next; bash has variables apart
   * from those of other shells. Any other command starts in that directory too. A call's own `cwd` and
   * `env` come on top, and are not handed on. What a command leaves counts only if its shell came to its
   * end, and is at most 1 MiB: not after a deadline, `exec`, or an EXIT trap of its own. A shell has one
   * more descriptor for it, 83. Default false.
   */
  shell?: boolean | undefined;
};

/**
 * What the commands of one session have in common. Always: the workspace, /tmp, the network, System V
 * IPC and POSIX message queues, a list of processes with their command lines, where the policy lets a
 * command see /dev/pts (Bubblewrap) the terminals of those that have one, and "limits": one command may
 * lower another's limits and priority (prlimit(2), setpriority(2)), and `maxProcesses` counts the
 * processes of all. "signals" besides, where one command may signal and trace another (no
 * "command-separation" among the layers).
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
 * One sandbox that is kept for many commands. Each has pipes, environment, limits, deadline, usage,
 * audit and end of its own: its processes are ended, the session and its other commands go on.
 * Commands may run at once.
 */
export interface NativeSession extends NativeRunner, AsyncDisposable {
  /**
   * Runs one command, as a runner's `exec` does.
   *
   * @throws (rejects) as there; {@link SandboxError} ERR_SANDBOX_CLOSED, with why, when the session
   * has ended.
   */
  exec(input: NativeExecInput): Promise<SandboxedExecResult>;
  /**
   * Starts a command that runs beside the others, such as a development server, until it ends or is
   * stopped, or the session ends: a runner's `spawn`, in this sandbox.
   *
   * @throws (rejects) as `exec`. A start that fails is an outcome in `result`.
   */
  start(input: NativeSpawnInput): Promise<SandboxProcess>;
  /**
   * Resolves when any of its commands listens on a TCP port, as {@link SandboxProcess.waitForPort}.
   *
   * @throws (rejects) as there; ERR_SANDBOX_CLOSED when the session has ended.
   */
  waitForPort(port: number, options?: WaitForPortOptions): Promise<void>;
  /** The layers in force for each of its commands. */
  readonly layers: readonly string[];
  /** What its commands have in common. */
  readonly shares: readonly SessionShare[];
  /** False as soon as it is known to have ended. */
  readonly isOpen: boolean;
  /**
   * Resolves with why when all its processes are known to be gone: it was closed, was idle, has run
   * its commands, or could not be trusted any more (its first process died, or the end of a command
   * could not be proved). Does not keep Node running; never rejects.
   */
  readonly ended: Promise<string>;
  /** Aborts what runs in it, ends all its processes, and resolves when that is proved. */
  close(): Promise<void>;
}

/** Options of `execBatch`. */
export type BatchOptions = {
  /** Whether the first that does not exit with 0 is the last to run; the others then are "aborted". Default false. */
  stopOnError?: boolean | undefined;
  /** As in {@link SessionOptions}. */
  shell?: boolean | undefined;
  /** As in {@link SessionOptions}. */
  tmpBytes?: number | undefined;
  /** Aborting it ends the command that runs, and the others do not start: all are "aborted". */
  signal?: AbortSignal | undefined;
};
