import type { Outcome, SandboxedExecResult } from "../../types/public.js";

/** Details of a {@link WaitForPortError}. */
export type WaitForPortErrorOptions = {
  /** The port that was waited for. */
  port: number;
  /** What would help. */
  fix?: string | undefined;
  /** How the process ended, where that is why. */
  outcome?: Outcome | undefined;
};

/** Nothing listens on a port that `waitForPort` waits for; `code` is stable. */
export class WaitForPortError extends Error {
  /** For programs; the only one of this class. */
  readonly code = "ERR_SANDBOX_PORT";
  /** The port that was waited for. */
  readonly port: number;
  // `declare`: a field that is not there must not be printed as undefined with the error.
  /** What would help, when that is known. */
  declare readonly fix: string | undefined;
  /** How the process ended, where that is why. */
  declare readonly outcome: Outcome | undefined;

  constructor(message: string, options: WaitForPortErrorOptions) {
    super(message);
    this.name = "WaitForPortError";
    this.port = options.port;
    if (options.fix !== undefined) this.fix = options.fix;
    if (options.outcome !== undefined) this.outcome = options.outcome;
  }
}

/** For a process that has ended and never listened. */
export function endedBefore(
  port: number,
  { outcome, exitCode }: Pick<SandboxedExecResult, "outcome" | "exitCode">,
): WaitForPortError {
  const end = `${outcome.kind}, exit code ${exitCode}`;
  const message = `the process ended before it listened on port ${port}: ${end}`;
  return new WaitForPortError(message, { port, outcome });
}
