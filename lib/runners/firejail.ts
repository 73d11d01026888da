import type { RunnerMetrics } from "../../types/metrics.js";
import type {
  BubblewrapExplanation,
  EnvironmentPolicy,
  FirejailNativeRunnerOptions,
  NativeExecInput,
  NativeRunner,
  NativeSpawnInput,
  NetworkMode,
  SandboxedExecResult,
  SandboxProcess,
} from "../../types/public.js";
import { copyOptions } from "./options.js";
import { Supervised } from "./supervised.js";

/** What a command may read when nothing is named; the addon's DefaultFirejailReadDirs. */
export const kDefaultFirejailReadDirs: readonly string[] = Object.freeze([
  "/usr",
  "/lib",
  "/lib64",
  "/etc",
  "/bin",
  "/sbin",
]);

/**
 * Runs commands under Firejail, in `shadowDir` at its host path: they read what is listed, and write
 * to the workspace and a private /tmp. Firejail runs a command unconfined where it is nested, so each
 * run proves its layers from the inside or is a failed set-up.
 *
 * Making one does no I/O and starts nothing; options are copied.
 */
export class FirejailNativeRunner implements NativeRunner {
  /** The firejail program, as given. Default "firejail". */
  readonly firejailPath: string;
  /** The workspace on the host. */
  readonly shadowDir: string;
  /** The profile file; undefined is --noprofile. */
  readonly profile: string | undefined;
  /** Host paths that may be read, besides the workspace. */
  readonly fsReadDirs: readonly string[];
  /** Host paths that may be written, besides the workspace. Default none. */
  readonly fsWriteDirs: readonly string[];
  /** Options for firejail. Default none. */
  readonly extraArgs: readonly string[];
  /** Default "deny". */
  readonly network: NetworkMode;
  /** Which host variables a command gets. Default "scrub". */
  readonly envPolicy: EnvironmentPolicy;
  /** Layers that must be in force. Default none. */
  readonly required: readonly string[];

  readonly #supervised: Supervised;

  /** @throws TypeError or RangeError on a wrong option (where the native addon is present). */
  constructor(options: FirejailNativeRunnerOptions) {
    const own = copyOptions(options);
    this.#supervised = new Supervised((addon) => new addon.FirejailNativeRunner(own));
    this.shadowDir = own.shadowDir;
    const { firejailPath = "firejail", profile, extraArgs = Object.freeze([]) } = own;
    const { fsReadDirs = kDefaultFirejailReadDirs, fsWriteDirs = Object.freeze([]) } = own;
    const { network = "deny", envPolicy = "scrub", required = Object.freeze([]) } = own;
    this.firejailPath = firejailPath;
    this.profile = profile;
    this.fsReadDirs = fsReadDirs;
    this.fsWriteDirs = fsWriteDirs;
    this.extraArgs = extraArgs;
    this.network = network;
    this.envPolicy = envPolicy;
    this.required = required;
  }

  /**
   * Runs one command and resolves with its outcome, whatever happens to it.
   *
   * @throws (rejects) TypeError or RangeError with a Node `code` on misuse; {@link SandboxError}
   * where firejail or the binary is missing; what a streaming callback threw.
   */
  async exec(input: NativeExecInput): Promise<SandboxedExecResult> {
    return this.#supervised.exec(input);
  }

  /**
   * The command line and the policy of a run that is planned to the end, but not started. What only
   * the kernel can add to `layers` is not there yet.
   *
   * @throws (rejects) as `exec`; {@link SandboxError} ERR_SANDBOX_SETUP where that would resolve
   * with "setup-failed".
   */
  async explain(input: NativeExecInput): Promise<BubblewrapExplanation> {
    return this.#supervised.explain(input);
  }

  /**
   * Starts a command that is spoken with while it runs, in a sandbox of its own; resolves once it is
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
