/**
 * The public types for opening, resuming and listing transactions; shipped and re-exported like public.d.ts.
 */

import type { Transaction } from "./transaction.js";

/**
 * How commands get a workspace that they can change without changing the host's. "overlay": the kernel's
 * overlayfs puts changes into a separate directory. "copy": commands work on a full copy, which needs no
 * kernel support but time and space for all files. "auto": an overlay if possible, otherwise a copy; see
 * `backendReason`.
 */
export type TransactionBackend = "auto" | "overlay" | "copy";

/** Progress of a copy. */
export type CopyProgress = {
  /** Number of copied files, links and FIFOs. */
  files: number;
  /** Their size in bytes, without holes. */
  bytes: number;
};

/** Options of `openTransaction`. */
export type TransactionOptions = {
  /**
   * The directory that holds transactions, absolute; created if it is missing, accessible to its owner only.
   * It may lie neither inside nor above the workspace, and should be on the workspace's file system. Default:
   * `openagentic/transactions` in `$XDG_STATE_HOME`, otherwise in `~/.local/state`.
   */
  directory?: string | undefined;
  /** The backend to use. Default "auto". */
  backend?: TransactionBackend | undefined;
  /**
   * Maximum size in bytes, without holes, of a workspace's files for which a copy is made; an integer.
   * Default 2 GiB.
   */
  maxBytes?: number | undefined;
  /**
   * Called while a copy is made, at most ten times a second, and once when it is complete. If it throws,
   * copying ends and `openTransaction` rejects with that error.
   */
  onProgress?: ((progress: CopyProgress) => void) | undefined;
  /** Aborting it ends copying; `openTransaction` then rejects with its reason and leaves nothing behind. */
  signal?: AbortSignal | undefined;
};

/** Options of `resumeTransaction`. */
export type ResumeOptions = {
  /** The directory that holds the transaction; see {@link TransactionOptions}. */
  directory?: string | undefined;
  /** The backend that the transaction must have. Default "auto": either. */
  backend?: TransactionBackend | undefined;
};

/** Options of `transactions`. */
export type ListTransactionsOptions = {
  /** See {@link TransactionOptions}; a missing directory has no transactions and is not created. */
  directory?: string | undefined;
  /** Tells what each holds on disk, in `space`: that looks at each of its files. Default false. */
  sizes?: boolean | undefined;
};

/**
 * What a transaction holds on disk, in bytes as the file system allocates them. Extents that files share by a reflink
 * count in each. What directories hold that keep their owner out is not counted, unless the host is root.
 */
export type TransactionSpace = {
  /** Of what nothing else holds: `discard` frees them. */
  bytes: number;
  /** Of files that other transactions hold too, or what commits have replaced, by hard links. */
  sharedBytes: number;
  /** Of both: what commands have changed in the workspace, or the copy in which they change files. */
  changesBytes: number;
  /** Of both: its checkpoints. */
  checkpointsBytes: number;
  /** Of both: its home, with the caches. */
  homeBytes: number;
};

/** A transaction as stored on disk. */
export type ListedTransaction = {
  /** See {@link Transaction}. */
  id: string;
  /** The real path of the workspace that the transaction was opened for. */
  workspace: string;
  /** When the transaction was opened. */
  createdAt: Date;
  /** The id of the transaction that it was forked from, which may be gone. */
  parent?: string;
  /** See {@link Transaction}. */
  backend: Transaction["backend"];
  /**
   * "open": in use by a living process, this one or another. "closed": it can be resumed, even if its process
   * has died. "torn": it can be resumed, but a commit left files that it could not restore, or its state
   * can't be read.
   */
  state: "open" | "closed" | "torn";
  /**
   * The value that a resumed transaction will report, as far as its files show: no recovery has been done
   * yet. "rolled-back" may turn out to be "torn" if others have changed the same files since. For an open
   * transaction only "torn" is known.
   */
  recovered?: NonNullable<Transaction["recovered"]>;
  /** Set if part of it was committed; `undo` could take that commit back. */
  committed?: true;
  /** Present if `sizes` was asked for, unless it was removed meanwhile. */
  space?: TransactionSpace;
};
