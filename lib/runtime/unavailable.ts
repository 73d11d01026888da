import { SandboxError } from "../errors.js";
import { commonCause } from "./cause.js";
import type { RuntimeStep } from "./runtime.js";

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
