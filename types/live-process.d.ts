/** The public types of live processes; shipped and re-exported like public.d.ts. */

import type { Readable, Writable } from "node:stream";
import type { Lease } from "./lease.js";
import type {
  ExplainMode,
  NativeExecInput,
  NativeLimits,
  SandboxedExecResult,
  StderrMode,
} from "./public.js";

/** The size of a terminal, in characters; integers from 1 to 65535. */
export type TerminalSize = {
  /** Characters per line. */
  cols: number;
  /** Number of lines. */
  rows: number;
};

/** The terminal of a process started with `spawn`. */
export type TerminalOptions = TerminalSize & {
  /** Terminal type: the value of TERM, unless `env` sets it. Default "xterm-256color". */
  term?: string | undefined;
};

/** Resource limits of one live process. None of its output is kept, and it has no deadline by default. */
export type NativeSpawnLimits = Omit<NativeLimits, "maxStdoutBytes" | "maxStderrBytes" | "keep">;

/** One command to run as a live process. Read and copied once, when `spawn` is called. */
export type NativeSpawnInput = {
  /** See {@link NativeExecInput.argv}. */
  argv: string[];
  /** See {@link NativeExecInput.cwd}. */
  cwd?: string | undefined;
  /** See {@link NativeExecInput.env}; variables whose value is undefined are left out. */
  env?: Readonly<Record<string, string | undefined>> | undefined;
  /** Resource limits of the process. No deadline unless `timeoutMs` is given. */
  limits?: NativeSpawnLimits | undefined;
  /** See {@link NativeExecInput.lease}. */
  lease?: Lease | undefined;
  /** Aborting it ends the process and all its descendants; the outcome is then "aborted". */
  signal?: AbortSignal | undefined;
  /**
   * Gives the process its own terminal, created inside the sandbox, for shells, editors and other programs
   * that check for a terminal. Default: no terminal; its streams are pipes.
   */
  pty?: TerminalOptions | undefined;
  /** See {@link NativeExecInput.explain}. */
  explain?: ExplainMode | undefined;
  /** See {@link NativeExecInput.stderr}. Not allowed with `pty`, which has only one stream. */
  stderr?: StderrMode | undefined;
};

/** Options of `waitForPort`. */
export type WaitForPortOptions = {
  /** Milliseconds until the wait fails, > 0. Default 30 000; `Infinity` = never. */
  timeoutMs?: number | undefined;
  /**
   * Minimum milliseconds between two checks, an integer >= 1. Default 50. With the network of the host,
   * checks are further apart if each takes long.
   */
  intervalMs?: number | undefined;
  /** Aborting it ends only the wait. */
  signal?: AbortSignal | undefined;
};

/** Options of `forward`. */
export type ForwardOptions = {
  /**
   * The loopback address of the host to listen on: "127.0.0.1" (the default; "localhost" is the same) or "::1". The
   * sandbox's side is found by itself: its 127.0.0.1, or its ::1 if nothing listens there.
   */
  host?: "127.0.0.1" | "::1" | "localhost" | undefined;
  /** The port of the host, an integer from 0 to 65535. Default 0: a free one. */
  hostPort?: number | undefined;
};

/** A port of the host's loopback whose connections arrive in a sandbox. */
export interface PortForward extends AsyncDisposable {
  /** `http://` and the address that it listens on, such as "http://127.0.0.1:43721". */
  readonly url: string;
  /** The port of the host. */
  readonly port: number;
  /** Closes the port and its connections; resolves when the port is free. Has no effect after the end. */
  close(): Promise<void>;
}

/** A running command that the host can exchange data with; `spawn` resolves with it. */
export interface SandboxProcess {
  /**
   * The input of the process. For a pipe, `end()` sends end of file. A terminal stays open; its only end of
   * file is the character ^D ("\x04") at the start of a line. If the command has closed its input, a write
   * fails with EPIPE; this is not an uncaught exception even without an error listener.
   */
  readonly stdin: Writable;
  /**
   * The output of the process, or everything that its terminal shows. If it is not read, the command blocks
   * once the buffers are full. Destroying it closes the output: the next write of the command fails.
   */
  readonly stdout: Readable;
  /** Like `stdout`; null with a terminal, and if merged with `stdout`. */
  readonly stderr: Readable | null;
  /**
   * The result, as from `exec`: outcome, usage and audit record. Resolves once all processes are known to be
   * gone, even if the output was not read. `stdout` and `stderr` are empty, but their byte counts are set.
   * Rejects only if the Node environment shuts down.
   */
  readonly result: Promise<SandboxedExecResult>;
  /**
   * Resolves when a process in the sandbox listens on a TCP port, over IPv4 or IPv6. No connection is made:
   * the kernel's socket table is read from outside, so it also works with `network: "deny"`. With the network
   * of the host, any server of the host on that port counts.
   *
   * @throws (rejects) {@link WaitForPortError} if the process has ended (with its `outcome`), nothing
   * listened in time, or the policy allows no sockets (Landlock with the network denied); the signal's
   * reason; TypeError or RangeError naming the field.
   */
  waitForPort(port: number, options?: WaitForPortOptions): Promise<void>;
  /**
   * Makes a port of the host's loopback lead to a TCP port of the sandbox, until the process has ended. Something may
   * listen there later: until then connections are closed. The first request of each HTTP/1 connection has to name a
   * loopback in its Host field; other protocols pass as they are.
   *
   * @throws (rejects) {@link ForwardError} if the process has ended (with its `outcome`), the host's port is taken, the
   * policy allows no sockets (Landlock with the network denied), or the process runs on a worker; TypeError or
   * RangeError naming the field.
   */
  forward(port: number, options?: ForwardOptions): Promise<PortForward>;
  /**
   * Sets the size of the terminal; its foreground processes get SIGWINCH.
   * @throws Error ERR_INVALID_STATE without a terminal; TypeError or RangeError naming the field.
   */
  resize(size: TerminalSize): void;
  /**
   * Sends a signal to the command's process group: the command and the processes it has started, except those
   * with their own process group, such as the jobs of an interactive shell. Has no effect after the end.
   * @throws TypeError if no signal has that name.
   */
  signal(name: NodeJS.Signals): void;
  /** Ends all processes by SIGKILL; resolves like `result`. The outcome is then "aborted". */
  stop(): Promise<SandboxedExecResult>;
  /** For `await using`; same as {@link stop}. */
  [Symbol.asyncDispose](): Promise<void>;
}
