import type { WorkspaceFilesOptions } from "../../types/addon-files.js";
import type { TransactionHandle } from "../../types/addon-transaction.js";
import type { WorkspaceFiles } from "../../types/files.js";
import type { RunnerMetrics } from "../../types/metrics.js";
import type {
  BubblewrapExplanation,
  NativeExecResult,
  NativeRunner,
  NativeSpawnInput,
  RunnerExecInput,
  SandboxedExecResult,
  SandboxProcess,
} from "../../types/public.js";
import type { BatchOptions, NativeSession, SessionOptions } from "../../types/session.js";
import { type MakeSession, Sessions, type SessionsBranch } from "./session.js";
import type { Supervised } from "./supervised.js";
import type { Membership } from "./transactions/membership.js";
import { NativeWorkspaceFiles } from "./workspace-files.js";

/** Base of this package's runners: passes calls on to the native handle. */
export abstract class SupervisedRunner implements NativeRunner {
  readonly #files: WorkspaceFiles;
  readonly #supervised: Supervised;

  protected constructor(
    supervised: Supervised,
    workspace: WorkspaceFilesOptions,
    transaction?: TransactionHandle,
  ) {
    this.#supervised = supervised;
    this.#files = new NativeWorkspaceFiles(workspace, transaction, (hasWaited) =>
      supervised.ready(hasWaited, false),
    );
  }

  /**
   * The workspace's files, for tools of the host itself. Paths are resolved below the workspace and through
   * no link, with the same rights to it that commands have. Needs no sandbox, and also works after `close`.
   */
  get files(): WorkspaceFiles {
    return this.#files;
  }

  /**
   * Never called, and no candidate for a call with one argument. The minimum that a subclass must return: its
   * own `exec` may promise only a {@link NativeExecResult}.
   */
  exec(input: never, alone: never): Promise<NativeExecResult>;
  /**
   * Runs one command and resolves with its outcome, however it ends.
   *
   * @throws (rejects) TypeError or RangeError with a Node `code` on misuse; {@link SandboxError} if no
   * sandbox is possible (not Linux, no binary, no usable bwrap, firejail or Landlock); any error that a
   * streaming callback threw.
   */
  exec<Result extends SandboxedExecResult = SandboxedExecResult>(
    input: RunnerExecInput,
  ): Promise<Result>;
  async exec(input: RunnerExecInput): Promise<SandboxedExecResult> {
    return this.#supervised.exec(input);
  }

  /**
   * Returns the command line and the policy of a run that is planned completely, but not started. `layers`
   * does not yet include those that only the kernel can add.
   *
   * @throws (rejects) like `exec`; {@link SandboxError} ERR_SANDBOX_SETUP if `exec` would resolve with
   * "setup-failed".
   */
  async explain(input: RunnerExecInput): Promise<BubblewrapExplanation> {
    return this.#supervised.explain(input);
  }

  /**
   * Starts a live process, in its own sandbox or processes; resolves once it has started. It takes no slot of
   * `maxConcurrent`, and has no deadline unless one is given.
   *
   * @throws (rejects) like `exec`. A failed start is an outcome in `result`.
   */
  async spawn(input: NativeSpawnInput): Promise<SandboxProcess> {
    return this.#supervised.spawn(input);
  }

  /**
   * Returns the metrics of its runs and its sessions' commands since its creation: outcomes, times, bytes,
   * kills.
   */
  metrics(): RunnerMetrics {
    return this.#supervised.metrics();
  }
}

/** A runner that can keep a sandbox for many commands, and can be closed. */
export abstract class SessionRunner extends SupervisedRunner {
  readonly #supervised: Supervised;
  readonly #sessions: Sessions;

  protected constructor(
    supervised: Supervised,
    workspace: WorkspaceFilesOptions,
    makeSession: MakeSession,
    transaction?: TransactionHandle,
  ) {
    super(supervised, workspace, transaction);
    this.#supervised = supervised;
    this.#sessions = new Sessions(
      (addon, options) => makeSession(addon, options, supervised.poolNumber()),
      supervised.meter,
      (hasWaited) => supervised.ready(hasWaited),
      () => supervised.home,
      () => supervised.secrets,
    );
  }

  /** Adds the runner to a transaction, which waits for and ends its runs like the transaction's own. */
  protected extractMembership(membership: Membership | undefined): void {
    if (membership === undefined) return;
    const { meter } = this.#supervised;
    this.#supervised.ready = membership.ready;
    membership.join({ meter, isIdle: () => this.isIdle(), endRuns: () => this.endRuns() });
  }

  /** Says of which transaction this is the runner. */
  protected belongTo(branch: SessionsBranch): void {
    this.#sessions.belongTo(branch);
  }

  /** True if {@link endRuns} would end nothing except prewarmed sandboxes. */
  protected isIdle(): boolean {
    return this.#supervised.isIdle() && this.#sessions.isEmpty();
  }

  /**
   * Ends running commands and sessions, and resolves when none of their processes remain; new ones may start.
   */
  protected async endRuns(): Promise<void> {
    await Promise.all([this.#sessions.endAll(), this.#supervised.endRuns()]);
  }

  /**
   * Opens a sandbox that is kept for many commands. It ends with {@link close}, or as its options specify.
   *
   * @throws (rejects) TypeError or RangeError on an invalid option; {@link SandboxError} if a sandbox is not
   * possible, or could not be built.
   */
  async openSession(options: SessionOptions = {}): Promise<NativeSession> {
    return this.#sessions.open(options);
  }

  /**
   * Runs commands sequentially in one sandbox, which is ended after the last. Returns one result for each, in
   * order.
   *
   * @throws (rejects) like `openSession`, and like `exec` for any of the commands: then none has run.
   */
  async execBatch(
    commands: readonly (RunnerExecInput | string[])[],
    options: BatchOptions = {},
  ): Promise<SandboxedExecResult[]> {
    return this.#sessions.execBatch(commands, options);
  }

  /**
   * Aborts running commands, ends sessions and prewarmed sandboxes, and resolves when all their processes are
   * known to be gone. Later runs reject with ERR_SANDBOX_CLOSED. Calling it is optional: a runner that is no
   * longer referenced, or whose process ends, leaves nothing behind either.
   */
  async close(): Promise<void> {
    await Promise.all([this.#sessions.close(), this.#supervised.close()]);
  }

  /** For `await using`; same as {@link close}. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }
}
