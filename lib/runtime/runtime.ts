/** What every runtime offers. */

import type { WorkspaceFiles } from "../../types/files.js";
import type { RunnerMetrics } from "../../types/metrics.js";
import type {
  BubblewrapExplanation,
  InTransaction,
  NativeExecInput,
  RunnerOptions,
  SandboxedExecResult,
} from "../../types/public.js";
import type { CanaryProbe } from "./canary/probe.js";
import type { WithCause } from "./cause.js";
import type { RuntimeName } from "./names.js";
import type { RuntimeResult } from "./result.js";

/** A host directory that a command may use besides its workspace. */
export type RuntimeMount = {
  /** Absolute. */
  hostPath: string;
  /** Where the command finds it. Default `hostPath`; only Bubblewrap can have it elsewhere. */
  guestPath?: string | undefined;
  /** Default "ro". */
  mode?: "ro" | "rw" | undefined;
};

/** How a shell command is to be run. */
export type ExecuteOptions = {
  /** The workspace on the host, in which the command starts. Default: the process's directory. */
  workdir?: string | undefined;
  /** Default none. */
  mounts?: readonly RuntimeMount[] | undefined;
  /** Variables, on top of the host's that are no secrets. */
  env?: Record<string, string> | undefined;
  /** Seconds until the command is ended, > 0. Default 60. */
  timeoutSecs?: number | undefined;
  /** Ends the command when aborted. */
  signal?: AbortSignal | undefined;
};

/** What a runtime makes a runner from. */
export type RuntimeRunnerOptions = RunnerOptions &
  InTransaction & {
    /** Default none. */
    mounts?: readonly RuntimeMount[] | undefined;
  };

/** A runner of this package. */
export type RuntimeRunner = {
  /** The workspace's files, for tools of the host itself. */
  readonly files: WorkspaceFiles;
  /** As a runner's own: resolves with the outcome, rejects on misuse. */
  exec(input: NativeExecInput): Promise<SandboxedExecResult>;
  /** What `exec` would do with the same input; nothing is started. */
  explain(input: NativeExecInput): Promise<BubblewrapExplanation>;
  /** What its runs were since it was made. */
  metrics(): RunnerMetrics;
};

/**
 * "available": proved by a canary run. "broken": it can't run commands here, or the canary got
 * through. "missing": the host lacks what it needs.
 */
export type RuntimeState = "available" | "broken" | "missing";

/** Whether a runtime works here, and how that was found out. */
export type RuntimeAvailability = WithCause & {
  /** Whether it works here. */
  available: boolean;
  /** What is there of it. */
  state: RuntimeState;
  /** Why it is not available. */
  reason?: string;
  /** What the operator can do about it; may have several lines. */
  fix?: string;
  /** The layers that were in force in the canary run. */
  layers: string[];
  /** What the canary tried. */
  probes: CanaryProbe[];
};

/** One runtime that was looked at when one was chosen. */
export type RuntimeStep = WithCause & {
  /** The runtime. */
  name: RuntimeName;
  /** Whether it works here. */
  available: boolean;
  /** Why it does not. */
  reason?: string;
  /** What the operator can do about it. */
  fix?: string;
};

/** A way to run shell commands under one policy. */
export interface Runtime {
  /** Which it is. */
  readonly name: RuntimeName;
  /** What was looked at until this one was chosen; empty where it was not chosen but named. */
  readonly steps: readonly RuntimeStep[];
  /**
   * Whether it works here, proved by a canary run; rejects for a wrong option only. The answer is kept for the process
   * and the policy; `refresh` finds it out anew.
   */
  isAvailable(options?: { refresh?: boolean }): Promise<RuntimeAvailability>;
  /**
   * Runs a command line with `sh -c`.
   *
   * @throws (rejects) SandboxError with code ERR_COMMAND_BLOCKED when the shell lists refuse it;
   * TypeError on misuse; SandboxError where the runtime can't exist on this host.
   */
  execute(command: string, options?: ExecuteOptions): Promise<RuntimeResult>;
  /** A runner under the same policy, for commands without a shell. */
  runner(options: RuntimeRunnerOptions): RuntimeRunner;
}
