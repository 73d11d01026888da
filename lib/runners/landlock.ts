import type { RunnerMetrics } from "../../types/metrics.js";
import type {
  BubblewrapExplanation,
  EnvironmentPolicy,
  LandlockNativeRunnerOptions,
  NativeExecInput,
  NativeRunner,
  NativeSpawnInput,
  NetworkMode,
  SandboxedExecResult,
  SandboxProcess,
} from "../../types/public.js";
import type { BatchOptions, NativeSession, SessionOptions } from "../../types/session.js";
import { copyOptions } from "./options.js";
import { Sessions } from "./sessions.js";
import { Supervised } from "./supervised.js";

/** What a command may read when nothing is named; the addon's DefaultReadDirs. */
export const kDefaultReadDirs: readonly string[] = Object.freeze([
  "/usr",
  "/lib",
  "/lib64",
  "/etc",
  "/bin",
  "/sbin",
  "/tmp",
]);

/** What a command may write when nothing is named; the addon's DefaultWriteDirs. */
export const kDefaultWriteDirs: readonly string[] = Object.freeze(["/tmp"]);

/**
 * Runs commands under Landlock, in `shadowDir` at its host path: no program but our own is needed.
 * A command reads and writes what is listed, and leaves no process behind. The audit's `layers` tell
 * what this kernel really enforced.
 *
 * Making one does no I/O and starts nothing; options are copied.
 */
export class LandlockNativeRunner implements NativeRunner {
  /** The workspace on the host. */
  readonly shadowDir: string;
  /** Host paths that may be read, besides the workspace. */
  readonly fsReadDirs: readonly string[];
  /** Host paths that may be written, besides the workspace. */
  readonly fsWriteDirs: readonly string[];
  /** Default true. */
  readonly allowReadWorkspace: boolean;
  /** Default true. */
  readonly allowWriteWorkspace: boolean;
  /** Default "deny". */
  readonly network: NetworkMode;
  /** Which host variables a command gets. Default "scrub". */
  readonly envPolicy: EnvironmentPolicy;
  /** Layers that must be in force. Default none. */
  readonly required: readonly string[];

  readonly #supervised: Supervised;
  readonly #sessions: Sessions;

  /** @throws TypeError or RangeError on a wrong option (where the native addon is present). */
  constructor(options: LandlockNativeRunnerOptions) {
    const own = copyOptions(options);
    this.#supervised = new Supervised((addon) => new addon.LandlockNativeRunner(own));
    this.#sessions = new Sessions(
      (addon, session) => new addon.LandlockSession(own, session),
      this.#supervised.meter,
    );
    this.shadowDir = own.shadowDir;
    const { fsReadDirs = kDefaultReadDirs, fsWriteDirs = kDefaultWriteDirs } = own;
    const { allowReadWorkspace = true, allowWriteWorkspace = true } = own;
    const { network = "deny", envPolicy = "scrub", required = Object.freeze([]) } = own;
    this.fsReadDirs = fsReadDirs;
    this.fsWriteDirs = fsWriteDirs;
    this.allowReadWorkspace = allowReadWorkspace;
    this.allowWriteWorkspace = allowWriteWorkspace;
    this.network = network;
    this.envPolicy = envPolicy;
    this.required = required;
  }

  /**
   * Runs one command and resolves with its outcome, whatever happens to it.
   *
   * @throws (rejects) TypeError or RangeError with a Node `code` on misuse; {@link SandboxError}
   * where a kernel has no Landlock or the binary is missing; what a streaming callback threw.
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
    const { args, ...plan } = await this.#supervised.explain(input);
    return { ...plan, args: args.slice(1) }; // `cmd` is the command itself, not a wrapper
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

  /**
   * Opens a sandbox that is kept for many commands. It ends with {@link close}, or as its options say.
   *
   * @throws (rejects) TypeError or RangeError on a wrong option; {@link SandboxError} where a sandbox
   * can't exist, or could not be built.
   */
  async openSession(options: SessionOptions = {}): Promise<NativeSession> {
    return this.#sessions.open(options);
  }

  /**
   * Runs commands one after the other in one sandbox, which is ended after the last. One result for
   * each, in order.
   *
   * @throws (rejects) as `openSession`, and as `exec` for any of the commands: then none has run.
   */
  async execBatch(
    commands: readonly (NativeExecInput | string[])[],
    options: BatchOptions = {},
  ): Promise<SandboxedExecResult[]> {
    return this.#sessions.execBatch(commands, options);
  }

  /**
   * Aborts the runs that are under way, ends sessions, and resolves when all their processes are known
   * to be gone. Later runs reject with ERR_SANDBOX_CLOSED.
   */
  async close(): Promise<void> {
    await Promise.all([this.#sessions.close(), this.#supervised.close()]);
  }

  /** `await using`: {@link close}. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  /** What its runs, and its sessions' commands, were since it was made: outcomes, times, bytes, kills. */
  metrics(): RunnerMetrics {
    return this.#supervised.metrics();
  }
}
