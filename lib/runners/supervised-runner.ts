import type { WorkspaceFilesOptions } from "../../types/addon-files.js";
import type { TransactionHandle } from "../../types/addon-transaction.js";
import type { WorkspaceFiles } from "../../types/files.js";
import type { RunnerMetrics } from "../../types/metrics.js";
import type {
  BubblewrapExplanation,
  NativeExecInput,
  NativeExecResult,
  NativeRunner,
  NativeSpawnInput,
  SandboxedExecResult,
  SandboxProcess,
} from "../../types/public.js";
import type { BatchOptions, NativeSession, SessionOptions } from "../../types/session.js";
import { type MakeSession, Sessions } from "./session.js";
import type { Supervised } from "./supervised.js";
import type { Membership } from "./transactions/membership.js";
import { NativeWorkspaceFiles } from "./workspace-files.js";

/** What the runners of this package have in common: they hand their calls on to the native handle. */
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
      supervised.ready(hasWaited),
    );
  }

  /**
   * The workspace's files, for tools of the host itself: below the workspace, through no link, with
   * no more rights to it than commands have. They need no sandbox, and work after `close` too.
   */
  get files(): WorkspaceFiles {
    return this.#files;
  }

  /**
   * Never called: what a subclass has to return at least, whose own `exec` may promise no more than a
   * {@link NativeExecResult}.
   */
  exec(input: never): Promise<NativeExecResult>;
  /**
   * Runs one command and resolves with its outcome, whatever happens to it.
   *
   * @throws (rejects) TypeError or RangeError with a Node `code` on misuse; {@link SandboxError}
   * where a sandbox can't exist (not Linux, no binary, no usable bwrap, firejail or Landlock); what a
   * streaming callback threw.
   */
  exec<Result extends SandboxedExecResult = SandboxedExecResult>(
    input: NativeExecInput,
  ): Promise<Result>;
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
   * Starts a command that is spoken with while it runs, in a sandbox or processes of its own; resolves
   * once it is started. It holds no slot of `maxConcurrent`, and has no deadline but the one it is given.
   *
   * @throws (rejects) as `exec` does. A start that fails is an outcome in `result`.
   */
  async spawn(input: NativeSpawnInput): Promise<SandboxProcess> {
    return this.#supervised.spawn(input);
  }

  /** What its runs, and its sessions' commands, were since it was made: outcomes, times, bytes, kills. */
  metrics(): RunnerMetrics {
    return this.#supervised.metrics();
  }
}

/** A runner whose sandbox can be kept for many commands, and that can be closed. */
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
    );
  }

  /** What runs in it is waited for, and ended, as the transaction's own. */
  protected extractMembership(membership: Membership | undefined): void {
    if (membership === undefined) return;
    const { meter } = this.#supervised;
    this.#supervised.ready = membership.ready;
    membership.join({ meter, isIdle: () => this.isIdle(), endRuns: () => this.endRuns() });
  }

  /** There is nothing that {@link endRuns} would end, but for sandboxes that stand. */
  protected isIdle(): boolean {
    return this.#supervised.isIdle() && this.#sessions.isEmpty();
  }

  /** Ends what runs and its sessions, and resolves when nothing of them is left; others may be begun. */
  protected async endRuns(): Promise<void> {
    await Promise.all([this.#sessions.endAll(), this.#supervised.endRuns()]);
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
