/** What every runtime offers. */

import type { WorkspaceFiles } from "../../types/files.js";
import type { RunnerMetrics } from "../../types/metrics.js";
import type {
  BubblewrapExplanation,
  InTransaction,
  NativeExecInput,
  Outcome,
  RunnerOptions,
  SandboxedAuditRecord,
  SandboxedExecResult,
} from "../../types/public.js";
import { SandboxError } from "../errors.js";
import type { ShellFinding } from "../shell-policy/policy.js";
import type { CanaryProbe } from "./canary-probes.js";

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

/** The runtimes' names, as configuration and reports spell them. */

/** A way to run commands. "native" supervises and does not confine. */
export type RuntimeName = "bubblewrap" | "landlock" | "firejail" | "native";

/** What can be asked for. */
export type RuntimeType = RuntimeName | "auto";

/** What "auto" tries, the strongest first. */
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

/** What a shell command that a runtime ran has said, and how it ended. */
export class RuntimeResult {
  /** Bytes that are no UTF-8 are U+FFFD. */
  readonly stdout: string;
  /** As `stdout`, of standard error. */
  readonly stderr: string;
  /**
   * The shell's exit code: 127 and 126 also where the shell itself could not be started. Null where
   * there is none, because a signal, the deadline, a limit or an abort ended the command, or because
   * the sandbox could not be built and it never ran: see `outcome`.
   */
  readonly exitCode: number | null;
  /** The command ended by itself, with 0. */
  readonly success: boolean;
  /** How the command ended. */
  readonly outcome: Outcome;
  /** Whether more was written to standard output than kept. */
  readonly truncatedStdout: boolean;
  /** As `truncatedStdout`, of standard error. */
  readonly truncatedStderr: boolean;
  /** One record of the run. */
  readonly audits: SandboxedAuditRecord[];
  /** What the shell lists let pass in their mode "warn". */
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
   * All of it as one text for a reader: stdout, what stderr has under a heading, the exit code when
   * it is not 0, and how the command ended when there is none.
   */
  format(): string {
    let text = this.stdout;
    if (this.stderr !== "") text += `\n--- stderr ---\n${this.stderr}`;
    if (this.exitCode === null) text += `\n[No exit code: ${reasonOf(this.outcome)}]`;
    else if (this.exitCode !== 0) text += `\n[Exit code: ${this.exitCode}]`;
    return text;
  }
}

/** Why something is not available, as what was thrown. */

/** Something that may have a cause. It is not enumerable: reports are printed and compared. */
type WithCause = {
  /** What was thrown, where that is why; not enumerable. */
  readonly cause?: unknown;
};

/** The same object, with the cause where there is one. */
export function withCause<Value extends object>(value: Value, cause: unknown): Value & WithCause {
  return cause === undefined ? value : Object.defineProperty(value, "cause", { value: cause });
}

/** The cause of several failures: their one, or all of them; undefined where nothing was thrown. */
export function commonCause(failures: readonly WithCause[]): unknown {
  const causes = failures.flatMap(({ cause }) => (cause === undefined ? [] : [cause]));
  return causes.length > 1 ? new AggregateError(causes, "several runtimes failed") : causes[0];
}

function fixOf(steps: readonly RuntimeStep[]): string | undefined {
  const [first] = steps.filter(({ fix }) => fix !== undefined);
  if (steps.length === 1 || first?.fix === undefined) return first?.fix;
  return `for ${first.name}: ${first.fix}`;
}

/** No runtime that was asked for works here; `steps` has why, and what would help, for each. */
export class RuntimeUnavailableError extends SandboxError {
  /** The runtimes that were looked at, in order. */
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
