import type { RunnerMetrics } from "../../types/metrics.js";
import type {
  BubblewrapExplanation,
  BubblewrapNativeRunnerOptions,
  BubblewrapNetworkMode,
  EnvironmentPolicy,
  IsolationMode,
  NativeExecInput,
  NativeRunner,
  NativeSpawnInput,
  PoolState,
  SandboxedExecResult,
  SandboxProcess,
} from "../../types/public.js";
import type { BatchOptions, NativeSession, SessionOptions } from "../../types/session.js";
import { copyOptions } from "./options.js";
import { Sessions } from "./sessions.js";
import { Supervised } from "./supervised.js";

/** What a runner mounts read-only when it is not told; the addon's DefaultRoBinds. */
export const kDefaultRoBinds: readonly string[] = Object.freeze([
  "/usr",
  "/bin",
  "/lib",
  "/lib64",
  "/etc",
]);

const kNone: readonly never[] = Object.freeze([]);

/**
 * Runs commands under Bubblewrap, with `shadowDir` mounted at /workspace. A command sees what is
 * mounted, writes to the workspace and a private /tmp only, and leaves no process behind.
 *
 * Making one does no I/O and starts nothing; options are copied. One runner serves any number of
 * calls at once.
 *
 * @example
 * const runner = new BubblewrapNativeRunner({ shadowDir: "/srv/work/42" });
 * const result = await runner.exec({ argv: ["bash", "-lc", "make test"] });
 */
export class BubblewrapNativeRunner implements NativeRunner {
  /** The bwrap program, as given. Default "bwrap". */
  readonly bwrapPath: string;
  /** The workspace on the host. */
  readonly shadowDir: string;
  /** Host paths mounted read-only, in order. Default /usr, /bin, /lib, /lib64, /etc. */
  readonly roBinds: readonly string[];
  /** Default "deny". */
  readonly network: BubblewrapNetworkMode;
  /** Default "strict". */
  readonly isolation: IsolationMode;
  /** Which host variables a command gets. Default "scrub". */
  readonly envPolicy: EnvironmentPolicy;
  /** Options for bwrap, after the mounts. Default none. */
  readonly extraArgs: readonly string[];
  /** Whether a minimal /dev is mounted. Default true. */
  readonly devBind: boolean;
  /** Whether a private /proc is mounted. Default true. */
  readonly procBind: boolean;
  /** Whether the workspace may be written. Default true. */
  readonly allowWriteWorkspace: boolean;
  /** Further walls inside the sandbox. Default none. */
  readonly layers: readonly "landlock"[];
  /** Layers that must be in force. Default none. */
  readonly required: readonly string[];
  /** Sandboxes to keep standing; undefined: a few, as runs come. */
  readonly prewarm: number | undefined;
  /** Milliseconds without a run after which they go away. Default 60 000. */
  readonly prewarmIdleMs: number;

  readonly #supervised: Supervised;
  readonly #sessions: Sessions;

  /** @throws TypeError or RangeError on a wrong option (where the native addon is present). */
  constructor(options: BubblewrapNativeRunnerOptions) {
    const own = copyOptions(options);
    this.#supervised = new Supervised((addon) => new addon.BubblewrapNativeRunner(own));
    this.#sessions = new Sessions(
      (addon, session) => new addon.BubblewrapSession(own, session),
      this.#supervised.meter,
    );
    this.shadowDir = own.shadowDir;
    const { bwrapPath = "bwrap", roBinds = kDefaultRoBinds, network = "deny" } = own;
    const { isolation = "strict", envPolicy = "scrub" } = own;
    const { devBind = true, procBind = true, allowWriteWorkspace = true } = own;
    const { extraArgs = kNone, layers = kNone, required = kNone } = own;
    this.bwrapPath = bwrapPath;
    this.roBinds = roBinds;
    this.network = network;
    this.isolation = isolation;
    this.envPolicy = envPolicy;
    this.extraArgs = extraArgs;
    this.devBind = devBind;
    this.procBind = procBind;
    this.allowWriteWorkspace = allowWriteWorkspace;
    this.layers = layers;
    this.required = required;
    this.prewarm = own.prewarm;
    this.prewarmIdleMs = own.prewarmIdleMs ?? 60_000;
  }

  /**
   * Runs one command in the sandbox and resolves with its outcome, whatever happens to it.
   *
   * @throws (rejects) TypeError or RangeError with a Node `code` on misuse; {@link SandboxError}
   * where a sandbox can't exist (not Linux, no bwrap, no binary); what a streaming callback threw.
   */
  async exec(input: NativeExecInput): Promise<SandboxedExecResult> {
    return this.#supervised.exec(input);
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
   * The command line and the policy of a run that is planned to the end, but not started.
   *
   * @throws (rejects) as `exec`; {@link SandboxError} ERR_SANDBOX_SETUP where that would resolve
   * with "setup-failed".
   */
  async explain(input: NativeExecInput): Promise<BubblewrapExplanation> {
    return this.#supervised.explain(input);
  }

  /**
   * Makes the sandboxes of `prewarm` now instead of with the first run; resolves with how many
   * stand. What changes on the host afterwards is noticed when a run comes: then it gets a new one.
   *
   * @throws (rejects) {@link SandboxError} when none can be made, as where `shadowDir` is missing.
   */
  async warm(): Promise<number> {
    return this.#supervised.warm();
  }

  /** What its runs, and its sessions' commands, were since it was made: outcomes, times, bytes, kills. */
  metrics(): RunnerMetrics {
    return this.#supervised.metrics();
  }

  /** The standing sandboxes, and how many runs they have served. */
  pool(): PoolState {
    return this.#supervised.pool();
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
   * Aborts the runs that are under way, ends sessions and standing sandboxes, and resolves when all their
   * processes are known to be gone. Later runs reject with ERR_SANDBOX_CLOSED. Not a must: a runner
   * that is no longer referenced, or whose process ends, leaves nothing behind either.
   */
  async close(): Promise<void> {
    await Promise.all([this.#sessions.close(), this.#supervised.close()]);
  }

  /** `await using`: {@link close}. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }
}
