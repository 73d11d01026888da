/** The interface that every runtime implements. */

import type { WorkspaceFiles } from "../../types/files.js";
import type { RunnerMetrics } from "../../types/metrics.js";
import type {
  BubblewrapExplanation,
  InTransaction,
  NativeExecInput,
  NativeSpawnInput,
  Outcome,
  RunnerOptions,
  SandboxedAuditRecord,
  SandboxedExecResult,
  SandboxProcess,
} from "../../types/public.js";
import { SandboxError } from "../errors.js";
import type { ShellFinding } from "../shell-policy/policy.js";
import type { CanaryProbe } from "./canary-probes.js";

/** A host directory that a command may use besides its workspace. */
export type RuntimeMount = {
  /** Absolute path on the host. */
  hostPath: string;
  /** Path inside the sandbox. Default `hostPath`; only Bubblewrap supports a different one. */
  guestPath?: string | undefined;
  /** Access of the command. Default "ro". */
  mode?: "ro" | "rw" | undefined;
};

/** Options for running a shell command. */
export type ExecuteOptions = {
  /** The workspace on the host, in which the command starts. Default: the process's directory. */
  workdir?: string | undefined;
  /** Additional directories. Default none. */
  mounts?: readonly RuntimeMount[] | undefined;
  /** Variables for the command, in addition to the host's variables that are not secrets. */
  env?: Record<string, string> | undefined;
  /** Seconds until the command is ended, > 0. Default 60. */
  timeoutSecs?: number | undefined;
  /** Ends the command when aborted. */
  signal?: AbortSignal | undefined;
};

/** Options for creating a runner from a runtime. */
export type RuntimeRunnerOptions = RunnerOptions &
  InTransaction & {
    /** Additional directories. Default none. */
    mounts?: readonly RuntimeMount[] | undefined;
  };

/** A runner of this package. */
export type RuntimeRunner = {
  /** The workspace's files, for tools of the host itself. */
  readonly files: WorkspaceFiles;
  /** Like a runner's `exec`: resolves with the outcome, rejects on misuse. */
  exec(input: NativeExecInput): Promise<SandboxedExecResult>;
  /** Like a runner's `spawn`: starts a command whose input and output are streams. */
  spawn(input: NativeSpawnInput): Promise<SandboxProcess>;
  /** Returns what `exec` would do with the same input, without starting anything. */
  explain(input: NativeExecInput): Promise<BubblewrapExplanation>;
  /** Returns the metrics of its runs since its creation. */
  metrics(): RunnerMetrics;
};

/**
 * "available": proved by a canary run. "broken": it can't run commands here, or the canary escaped.
 * "missing": the host lacks a requirement.
 */
export type RuntimeState = "available" | "broken" | "missing";

/** A runtime's availability on this host, and how it was determined. */
export type RuntimeAvailability = WithCause & {
  /** True if it works here. */
  available: boolean;
  /** The state of the runtime. */
  state: RuntimeState;
  /** Why it is not available. */
  reason?: string;
  /** How the operator can fix it; may have several lines. */
  fix?: string;
  /** The layers that were in force in the canary run. */
  layers: string[];
  /** The probes of the canary. */
  probes: CanaryProbe[];
};

/** One runtime that was considered during selection. */
export type RuntimeStep = WithCause & {
  /** The runtime. */
  name: RuntimeName;
  /** True if it works here. */
  available: boolean;
  /** Why it is not available. */
  reason?: string;
  /** How the operator can fix it. */
  fix?: string;
};

/** A way to run shell commands under one policy. */
export interface Runtime {
  /** The runtime's name. */
  readonly name: RuntimeName;
  /** The runtimes that were considered until this one was selected; empty if it was requested by name. */
  readonly steps: readonly RuntimeStep[];
  /**
   * Tests by a canary run if it works here; rejects only for an invalid option. The answer is cached for the
   * process and the policy; `refresh` tests again.
   */
  isAvailable(options?: { refresh?: boolean }): Promise<RuntimeAvailability>;
  /**
   * Runs a command line with `sh -c`.
   *
   * @throws (rejects) SandboxError with code ERR_COMMAND_BLOCKED if shell lists that the operator set refuse it,
   * or, in the runtime `native`, which confines nothing, the built-in block list; TypeError on misuse; SandboxError
   * if the runtime is not possible on this host.
   */
  execute(command: string, options?: ExecuteOptions): Promise<RuntimeResult>;
  /** Creates a runner with the same policy, for commands without a shell. */
  runner(options: RuntimeRunnerOptions): RuntimeRunner;
}

/** The runtimes' names, as spelled in configurations and reports. */

/** A way to run commands. "native" supervises but does not confine. */
export type RuntimeName = "bubblewrap" | "landlock" | "firejail" | "native";

/** The values of a requested runtime. */
export type RuntimeType = RuntimeName | "auto";

/** The runtimes that "auto" tries, the strongest first. */
export const kConfiningNames = ["bubblewrap", "landlock", "firejail"] as const;

/** All runtimes, in the order of reports. */
export const kRuntimeNames: readonly RuntimeName[] = [...kConfiningNames, "native"];

/** All values of `runtimeType`. */
export const kRuntimeTypes = ["auto", ...kConfiningNames, "native"] as const;

function exitCodeOf({ exitCode, outcome }: SandboxedExecResult): number | null {
  switch (outcome.kind) {
    case "exited":
    case "not-found":
    case "not-executable":
      return exitCode;
    default:
      return null;
  }
}

function reasonOf(outcome: Outcome): string {
  if (outcome.kind === "signaled") return `signaled ${outcome.signal}`;
  if (outcome.kind === "limit-exceeded") return `limit-exceeded ${outcome.limit}`;
  return outcome.kind;
}

/** The output and outcome of a shell command that a runtime ran. */
export class RuntimeResult {
  /** Standard output; invalid UTF-8 bytes are U+FFFD. */
  readonly stdout: string;
  /** Like `stdout`, for standard error. */
  readonly stderr: string;
  /**
   * The shell's exit code: 127 and 126 also if the shell itself could not be started. Null if a signal, the
   * deadline, a limit or an abort ended the command, or if the sandbox could not be built, so that it never
   * ran: see `outcome`.
   */
  readonly exitCode: number | null;
  /** True if the command ended by itself with exit code 0. */
  readonly success: boolean;
  /** How the command ended. */
  readonly outcome: Outcome;
  /** True if more bytes were written to standard output than were kept. */
  readonly truncatedStdout: boolean;
  /** Like `truncatedStdout`, for standard error. */
  readonly truncatedStderr: boolean;
  /** The audit record of the run. */
  readonly audits: SandboxedAuditRecord[];
  /**
   * Findings of the shell lists that did not block the command: those of mode "warn", and, if the operator set
   * no list, the first one of the built-in block list.
   */
  readonly warnings: ShellFinding[];

  constructor(result: SandboxedExecResult, warnings: ShellFinding[] = []) {
    const decoder = new TextDecoder("utf-8", { ignoreBOM: true });
    this.stdout = decoder.decode(result.stdout);
    this.stderr = decoder.decode(result.stderr);
    this.exitCode = exitCodeOf(result);
    this.success = this.exitCode === 0;
    this.outcome = result.outcome;
    this.truncatedStdout = result.truncatedStdout;
    this.truncatedStderr = result.truncatedStderr;
    this.audits = result.audits;
    this.warnings = warnings;
  }

  /**
   * Formats the result as one text for a reader: stdout, stderr under a heading if it is not empty, the exit
   * code if it is not 0, and, without an exit code, how the command ended.
   */
  format(): string {
    let text = this.stdout;
    if (this.stderr !== "") text += `\n--- stderr ---\n${this.stderr}`;
    if (this.exitCode === null) text += `\n[No exit code: ${reasonOf(this.outcome)}]`;
    else if (this.exitCode !== 0) text += `\n[Exit code: ${this.exitCode}]`;
    return text;
  }
}

/** Attaches the thrown error to a reason for unavailability. */

/** An object with an optional cause. The cause is not enumerable, since reports are printed and compared. */
type WithCause = {
  /** The thrown error, if it is the reason; not enumerable. */
  readonly cause?: unknown;
};

/** Returns the same object, with the cause if it is defined. */
export function withCause<Value extends object>(value: Value, cause: unknown): Value & WithCause {
  return cause === undefined ? value : Object.defineProperty(value, "cause", { value: cause });
}

/**
 * Returns the common cause of several failures: the only one, or all of them; undefined if no error was
 * thrown.
 */
export function commonCause(failures: readonly WithCause[]): unknown {
  const causes = failures.flatMap(({ cause }) => (cause === undefined ? [] : [cause]));
  return causes.length > 1 ? new AggregateError(causes, "several runtimes failed") : causes[0];
}

function fixOf(steps: readonly RuntimeStep[]): string | undefined {
  const [first] = steps.filter(({ fix }) => fix !== undefined);
  if (steps.length === 1 || first?.fix === undefined) return first?.fix;
  return `for ${first.name}: ${first.fix}`;
}

/** None of the requested runtimes works here; `steps` has the reason and the fix for each. */
export class RuntimeUnavailableError extends SandboxError {
  /** The runtimes that were considered, in order. */
  readonly steps: readonly RuntimeStep[];

  constructor(what: string, steps: readonly RuntimeStep[]) {
    const reasons = steps.map(({ name, reason }) => `${name}: ${reason ?? "not available"}`);
    super(`${what} (${reasons.join("; ")})`, {
      code: "ERR_SANDBOX_UNAVAILABLE",
      fix: fixOf(steps),
      cause: commonCause(steps),
    });
    this.name = "RuntimeUnavailableError";
    this.steps = steps;
  }
}
