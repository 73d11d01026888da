import type { WorkspaceFilesOptions } from "../../types/addon-files.js";
import type { TransactionHandle } from "../../types/addon-transaction.js";
import type { NativeExecInput, SandboxedExecResult } from "../../types/public.js";
import type { BatchOptions, NativeSession, SessionOptions } from "../../types/session.js";
import type { MakeSession } from "./sessions.js";
import { Sessions } from "./sessions.js";
import type { Supervised } from "./supervised.js";
import { SupervisedRunner } from "./supervised-runner.js";
import type { Membership } from "./transactions/membership.js";

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
  protected takePart(membership: Membership | undefined): void {
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
