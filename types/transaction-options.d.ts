/**
 * The public types of how transactions are opened, resumed and listed; shipped and re-exported as
 * public.d.ts is.
 */

import type { Transaction } from "./transaction.js";

/**
 * How commands get a workspace that they can change without changing the host's. "overlay": the kernel's
 * overlayfs puts what they change into a directory of its own. "copy": they work on a copy of all of it,
 * which needs nothing of the kernel's, and time and space for all files. "auto": an overlay where one can
 * be had, else a copy; see `backendReason`.
 */
export type TransactionBackend = "auto" | "overlay" | "copy";

/** How far a copy is. */
export type CopyProgress = {
  /** Files, links and FIFOs that were copied. */
  files: number;
  /** Of them, without holes. */
  bytes: number;
};

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
  /**
   * The most bytes that the files of the workspace may have for a copy of it to be made, without holes; an
   * integer. Default 2 GiB.
   */
  maxBytes?: number | undefined;
  /**
   * Called while a copy is made, ten times a second at most, and once when it is there. What it throws
   * ends that, and `openTransaction` rejects with it.
   */
  onProgress?: ((progress: CopyProgress) => void) | undefined;
  /** Ends the making of a copy; `openTransaction` then rejects with its reason, and nothing is left. */
  signal?: AbortSignal | undefined;
};

/** Options of `resumeTransaction`. */
export type ResumeOptions = {
  /** As in {@link TransactionOptions}: where the transaction is kept. */
  directory?: string | undefined;
  /** What it must be made with. Default "auto": either. */
  backend?: TransactionBackend | undefined;
};

/** Options of `transactions`. */
export type ListTransactionsOptions = {
  /** As in {@link TransactionOptions}; one that is missing holds none, and is not made. */
  directory?: string | undefined;
};

/** A transaction as it lies on disk. */
export type ListedTransaction = {
  /** As in {@link Transaction}. */
  id: string;
  /** The real path of the workspace that it was opened for. */
  workspace: string;
  /** When it was opened. */
  createdAt: Date;
  /** As in {@link Transaction}. */
  backend: Transaction["backend"];
  /**
   * "open": a living process has it, this one or another. "closed": it can be resumed, also where its
   * process has died. "torn": it can, but a commit has left what it could not put back, or
   * what it has left can't be read.
   */
  state: "open" | "closed" | "torn";
  /**
   * What whoever resumes it is going to be told, as far as its files tell: nothing is done about it yet.
   * "rolled-back" may turn out to be "torn", where others have changed the same files since. Of one
   * that is open only "torn" is known.
   */
  recovered?: NonNullable<Transaction["recovered"]>;
  /** Set where something of it was committed, which `undo` could take back. */
  committed?: true;
};
