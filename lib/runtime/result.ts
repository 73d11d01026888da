import type { Outcome, SandboxedAuditRecord, SandboxedExecResult } from "../../types/public.js";
import type { ShellFinding } from "../shell-policy/verdict.js";

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
