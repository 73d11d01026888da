/** The public types of transactions; shipped and re-exported as public.d.ts is. */

import type {
  BubblewrapExplanation,
  NativeExecInput,
  NativeRunner,
  NativeSpawnInput,
  SandboxedExecResult,
  SandboxProcess,
} from "./public.js";
import type { BatchOptions, NativeSession, SessionOptions } from "./session.js";

/**
 * How commands get a workspace that they can change without changing the host's. "overlay": the kernel's
 * overlayfs puts what they change into a directory of its own. "auto": what works here, which for now is
 * an overlay or nothing.
 */
export type TransactionBackend = "auto" | "overlay";

/** Options of `openTransaction`. */
export type TransactionOptions = {
  /**
   * The directory that transactions are kept in, absolute; made where it is missing, for its owner alone.
   * It may neither lie in the workspace nor around it, and should be on the workspace's file system.
   * Default: `openagentic/transactions` in `$XDG_STATE_HOME`, else in `~/.local/state`.
   */
  directory?: string | undefined;
  /** Default "auto". */
  backend?: TransactionBackend | undefined;
};

/**
 * A runner whose commands work on the project as it is, while what they change stays apart from it until
 * somebody says what becomes of it. All that it runs, at once or one after the other, sees the changes
 * of the others. A change that the host makes to a file in place is seen inside; a file that it replaces,
 * removes or moves may stay as it was for the transaction's commands.
 *
 * `await using` discards it. One that is no longer referenced, or whose process ends, stays on disk as
 * {@link close} leaves it.
 */
export interface Transaction extends NativeRunner, AsyncDisposable {
  /** Twelve hexadecimal digits; the name of its directory on disk. */
  readonly id: string;
  /** What it is made with. Its audits have the layer "transaction:overlay". */
  readonly backend: "overlay";
  /**
   * As the runner's `exec`, in the transaction.
   *
   * @throws (rejects) as there; {@link SandboxError} ERR_SANDBOX_CLOSED once it was closed or discarded.
   */
  exec(input: NativeExecInput): Promise<SandboxedExecResult>;
  /** As the runner's `explain`, in the transaction. */
  explain(input: NativeExecInput): Promise<BubblewrapExplanation>;
  /** As the runner's `spawn`, in the transaction. */
  spawn(input: NativeSpawnInput): Promise<SandboxProcess>;
  /** As the runner's `openSession`, in the transaction. */
  openSession(options?: SessionOptions): Promise<NativeSession>;
  /** As the runner's `execBatch`, in the transaction. */
  execBatch(
    commands: readonly (NativeExecInput | string[])[],
    options?: BatchOptions,
  ): Promise<SandboxedExecResult[]>;
  /** As the runner's `warm`: standing sandboxes of the transaction's own. */
  warm(): Promise<number>;
  /** Ends what runs in it, and keeps what was changed on disk. No command can be run any more. */
  close(): Promise<void>;
  /**
   * Ends what runs in it, and removes all that was changed: the workspace is as if nothing had been run.
   *
   * @throws (rejects) {@link SandboxError} ERR_SANDBOX_SETUP where something can't be removed.
   */
  discard(): Promise<void>;
}
