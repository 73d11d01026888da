import type { EnvironmentPolicy, LocalNativeRunnerOptions } from "../../types/public.js";
import { takeAuditLog } from "../audit-log/sink.js";
import { copyOptions } from "../fields.js";
import { Supervised } from "./supervised.js";
import { SupervisedRunner } from "./supervised-runner.js";
import { extractMembership } from "./transactions/membership.js";

/**
 * Runs commands directly on the host, in `shadowDir`: NO sandbox. Limits, deadlines, outcomes, audit records
 * and the end of all processes are like those of the sandboxed runners; `cwd` must not leave the workspace,
 * but the command itself can.
 */
export class LocalNativeRunner extends SupervisedRunner {
  /** The workspace on the host. */
  readonly shadowDir: string;
  /** Selects the host's variables that a command gets. Default "scrub". */
  readonly envPolicy: EnvironmentPolicy;

  /** @throws TypeError or RangeError on an invalid option (if the native addon is present). */
  constructor(options: LocalNativeRunnerOptions) {
    const own = copyOptions(options);
    const sink = takeAuditLog(own);
    const taken = extractMembership(own);
    const supervised = new Supervised((addon) => new addon.LocalNativeRunner(own, taken?.handle));
    supervised.meter.recordTo(sink);
    super(supervised, { shadowDir: own.shadowDir }, taken?.handle);
    if (taken) supervised.ready = taken.ready;
    taken?.join(supervised);
    const { shadowDir, envPolicy = "scrub" } = own;
    this.shadowDir = shadowDir;
    this.envPolicy = envPolicy;
  }
}
