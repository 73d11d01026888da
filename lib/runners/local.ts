import type { RunnerMetrics } from "../../types/metrics.js";
import type {
  BubblewrapExplanation,
  EnvironmentPolicy,
  LocalNativeRunnerOptions,
  NativeExecInput,
  NativeRunner,
  NativeSpawnInput,
  SandboxedExecResult,
  SandboxProcess,
} from "../../types/public.js";
import { copyOptions } from "./options.js";
import { Supervised } from "./supervised.js";

/**
 * Runs commands directly on the host, in `shadowDir`: NO sandbox. Limits, deadlines, outcomes,
 * audits and the end of all processes are those of the sandboxed runners; `cwd` must not leave the
 * workspace, the command itself can.
 */
export class LocalNativeRunner implements NativeRunner {
  /** The workspace on the host. */
  readonly shadowDir: string;
  /** Which host variables a command gets. Default "scrub". */
  readonly envPolicy: EnvironmentPolicy;

  readonly #supervised: Supervised;

  /** @throws TypeError or RangeError on a wrong option (where the native addon is present). */
  constructor(options: LocalNativeRunnerOptions) {
    const own = copyOptions(options);
    this.#supervised = new Supervised((addon) => new addon.LocalNativeRunner(own));
    const { shadowDir, envPolicy = "scrub" } = own;
    this.shadowDir = shadowDir;
    this.envPolicy = envPolicy;
  }

  /**
   * Runs one command and resolves with its outcome, whatever happens to it.
   *
   * @throws (rejects) TypeError or RangeError with a Node `code` on misuse; {@link SandboxError}
   * where the native addon is missing; what a streaming callback threw.
   */
  async exec(input: NativeExecInput): Promise<SandboxedExecResult> {
    return this.#supervised.exec(input);
  }

  /**
   * The command line and the policy of a run that is planned to the end, but not started.
   *
   * @throws (rejects) as `exec`; {@link SandboxError} ERR_SANDBOX_SETUP where that would resolve
   * with "setup-failed".
   */
  async explain(input: NativeExecInput): Promise<BubblewrapExplanation> {
    const { args, ...plan } = await this.#supervised.explain(input);
    return { ...plan, args: args.slice(1) }; // `cmd` is the command itself, not a wrapper
  }

  /**
   * Starts a command that is spoken with while it runs, in processes of its own; resolves once it is
   * started. It holds no slot of `maxConcurrent`, and has no deadline but the one it is given.
   *
   * @throws (rejects) as `exec` does. A start that fails is an outcome in `result`.
   */
  async spawn(input: NativeSpawnInput): Promise<SandboxProcess> {
    return this.#supervised.spawn(input);
  }

  /** What this runner's runs were since it was made: outcomes, times, bytes, kills. */
  metrics(): RunnerMetrics {
    return this.#supervised.metrics();
  }
}
