/** The public types of live processes; shipped and re-exported as public.d.ts is. */

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
  /** Characters in a line. */
  cols: number;
  /** Lines. */
  rows: number;
};

/** A terminal for `spawn`. */
export type TerminalOptions = TerminalSize & {
  /** What programs take it for: TERM, unless `env` has one. Default "xterm-256color". */
  term?: string | undefined;
};

/** What one live process may use: nothing is kept of its output, and it has no deadline by default. */
export type NativeSpawnLimits = Omit<NativeLimits, "maxStdoutBytes" | "maxStderrBytes" | "keep">;

/** One command to run while it is spoken with. Read and copied once, when `spawn` is called. */
export type NativeSpawnInput = {
  /** As {@link NativeExecInput.argv}. */
  argv: string[];
  /** As {@link NativeExecInput.cwd}. */
  cwd?: string | undefined;
  /** As {@link NativeExecInput.env}. */
  env?: Record<string, string> | undefined;
  /** What it may use. No deadline unless `timeoutMs` is given. */
  limits?: NativeSpawnLimits | undefined;
  /** As {@link NativeExecInput.lease}. */
  lease?: Lease | undefined;
  /** Aborting it ends the process and all its descendants; the outcome is then "aborted". */
  signal?: AbortSignal | undefined;
  /**
   * Gives it a terminal of its own, made inside the sandbox, for shells, editors and whatever asks
   * whether it has one. Default: none, its streams are pipes.
   */
  pty?: TerminalOptions | undefined;
  /** As {@link NativeExecInput.explain}. */
  explain?: ExplainMode | undefined;
  /** As {@link NativeExecInput.stderr}; not with `pty`, where there is one stream. */
  stderr?: StderrMode | undefined;
};

/** How `waitForPort` waits. */
export type WaitForPortOptions = {
  /** Milliseconds until it gives up, > 0. Default 30 000; `Infinity` = never. */
  timeoutMs?: number | undefined;
  /**
   * Least milliseconds between two looks, an integer >= 1. Default 50. With the host's network they are
   * further apart where a look takes long.
   */
  intervalMs?: number | undefined;
  /** Aborting it ends the wait, and nothing else. */
  signal?: AbortSignal | undefined;
};

/** A command that runs while it is spoken with; what `spawn` resolves with. */
export interface SandboxProcess {
  /**
   * Its input. `end()` is end of file for a pipe; a terminal stays open, and has no end of file but
   * the character ^D ("\x04") at the start of a line. Where the command has closed its input, a write
   * fails with EPIPE, which is no uncaught exception when nobody listens.
   */
  readonly stdin: Writable;
  /**
   * Its output, or all that the terminal shows. Where nobody reads it, the command is held up as soon
   * as the buffers are full. Destroying it says that nobody will: the next write of the command fails.
   */
  readonly stdout: Readable;
  /** As `stdout`; null with a terminal, and where it is merged with `stdout`. */
  readonly stderr: Readable | null;
  /**
   * How it ended, as `exec` has it: outcome, usage and audit, once all its processes are known to be
   * gone, whether or not its output was read. `stdout` and `stderr` are empty, the counts of their
   * bytes are not. Rejects only where the Node environment shuts down.
   */
  readonly result: Promise<SandboxedExecResult>;
  /**
   * Resolves when something in the sandbox listens on a TCP port, of IPv4 or IPv6. Nobody connects: the
   * kernel's table of sockets is read from outside, so it works with `network: "deny"` too. With the
   * host's network any server of the host on that port counts.
   *
   * @throws (rejects) {@link WaitForPortError} when the process has ended (with its
   * `outcome`), nothing listened in time, or the policy allows no sockets (Landlock with the network
   * denied); the signal's reason; TypeError or RangeError that names the field.
   */
  waitForPort(port: number, options?: WaitForPortOptions): Promise<void>;
  /**
   * Sets the size of the terminal; what runs in its foreground gets SIGWINCH.
   * @throws Error ERR_INVALID_STATE without a terminal; TypeError or RangeError that names the field.
   */
  resize(size: TerminalSize): void;
  /**
   * Sends a signal to the command's process group: the command and what it has started, but for what
   * has a group of its own, as the jobs of an interactive shell do. After the end it does nothing.
   * @throws TypeError when there is no signal of that name.
   */
  signal(name: NodeJS.Signals): void;
  /** Ends all its processes by SIGKILL; resolves as `result` does. The outcome is then "aborted". */
  stop(): Promise<SandboxedExecResult>;
  /** `await using`: {@link stop}. */
  [Symbol.asyncDispose](): Promise<void>;
}
