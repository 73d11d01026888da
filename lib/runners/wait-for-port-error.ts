import type { Outcome } from "../../types/public.js";

/** Details of a {@link WaitForPortError}. */
export type WaitForPortErrorOptions = {
  port: number;
  /** What would help. */
  fix?: string | undefined;
  outcome?: Outcome | undefined;
};

/** Nothing listens on a port that `waitForPort` waits for; `code` is stable. */
export class WaitForPortError extends Error {
  readonly code = "ERR_SANDBOX_PORT";
  readonly port: number;
  /** What would help, when that is known. */
  readonly fix: string | undefined;
  /** How the process ended, where that is why. */
  readonly outcome: Outcome | undefined;

  constructor(message: string, options: WaitForPortErrorOptions) {
    super(message);
    this.name = "WaitForPortError";
    this.port = options.port;
    this.fix = options.fix;
    this.outcome = options.outcome;
  }
}
