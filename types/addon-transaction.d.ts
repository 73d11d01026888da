/**
 * The exports of native_runner.node for transactions: a part of addon.d.ts, whose header applies here too.
 */

import type {
  Change,
  ChangesOptions,
  CommitOptions,
  DiffOptions,
  Transaction,
} from "./transaction.js";
import type {
  CopyProgress,
  ListedTransaction,
  TransactionBackend,
  TransactionSpace,
} from "./transaction-options.js";

/** A transaction of a workspace, initially not open. Its calls work on other threads. */
export interface TransactionHandle {
  /**
   * Call once. Both paths are absolute; `directory` holds the transactions. `resume`: the id of an existing
   * transaction. `onProgress` must not throw. Throws on misuse.
   */
  open(options: {
    workspace: string;
    directory: string;
    resume?: string;
    backend?: TransactionBackend;
    bwrapPath?: string;
    maxBytes?: number;
    /** Package caches that its commands share; `directory`: the name of what the transaction keeps of one. */
    caches?: { source: string; directory: string; hidden: string[] }[];
    onProgress?: (progress: CopyProgress) => void;
  }): Promise<OpenedTransaction>;
  /**
   * Stops copying, and what only reports or prepares: `open`, `changes`, `diff`, `check`, `commit` and
   * `checkpoint` then reject soon. The transaction can only be closed or discarded afterwards.
   */
  stop(): void;
  /** True if `freshen` must be called before a command starts in the transaction. Costs a microsecond. */
  isStale(): boolean;
  /** Makes the overlay show the host's current files; mounts it if that has failed before. */
  freshen(): Promise<void>;
  /** Records the host's state of the paths that commands have changed; call soon after each command. */
  look(): Promise<void>;
  /** Returns the changes in the order of the paths' bytes. Throws on misuse. */
  changes(options: {
    paths?: ChangesOptions["paths"];
    versions?: boolean;
    since?: TransactionHandle;
    sinceFork?: TransactionHandle;
  }): Promise<PackedChanges>;
  /** Returns the changes as one text, for `git apply`. Throws on misuse. */
  diff(
    options: Omit<DiffOptions, "since" | "sinceFork"> & {
      since?: TransactionHandle;
      sinceFork?: TransactionHandle;
    },
  ): Promise<string>;
  /** Returns what `commit` would do, without doing it; commands may continue. Throws on misuse. */
  check(request: CommitRequest): Promise<CommitAnswer>;
  /**
   * Applies the changes to the host: all, or none if there are `conflicts` or `refused`. Commands of the
   * transaction must have ended, and none may start until this has settled. Throws on misuse. `merged`: what
   * planCommitMerge has planned last, decided.
   */
  commit(request: CommitRequest & { merged?: MergeRequest["files"] }): Promise<CommitAnswer>;
  /** Returns what the conflicts of a commit need so that it can be done: "merge" or "conflict". Throws on misuse. */
  planCommitMerge(request: CommitRequest): Promise<MergeStep[]>;
  /** Undoes the last commit; resolves with the paths that prevent it. */
  undo(): Promise<string[]>;
  /** No command may run or start in the transaction until this has settled. Throws on misuse. */
  checkpoint(options: { name?: string }): Promise<NativeCheckpoint>;
  /** Oldest first. */
  checkpoints(): Promise<NativeCheckpoint[]>;
  /**
   * Commands of the transaction must have ended, and none may start until this has settled. Throws on misuse.
   */
  rollback(options: { id: string }): Promise<void>;
  /** Makes a transaction that begins as this one is now; resolves with its id, to be resumed. Commands may continue. */
  fork(): Promise<string>;
  /** Returns what a merge has to do, or with `takesAll` what is to be taken over. Throws on misuse. */
  planMerge(options: {
    from: TransactionHandle;
    paths?: readonly string[];
    takesAll?: boolean;
  }): Promise<MergeStep[]>;
  /**
   * Commands of the transaction must have ended, and none may start until this has settled. Throws on misuse.
   */
  merge(
    options: MergeRequest & {
      from: TransactionHandle;
      /** As of the plan. */
      paths?: readonly string[];
    },
  ): Promise<void>;
  /** Removes the files that the last merge or rollback has replaced; merges and rollbacks wait, other calls go on. */
  sweep(): Promise<void>;
  /** Keeps the transaction on disk. No effect if it is not open. */
  close(): Promise<void>;
  /** Removes the transaction. Its commands must have ended. */
  discard(): Promise<void>;
}

/** `name`: "" if it has none; `createdMs`: milliseconds since 1970. */
export type NativeCheckpoint = { id: string; name: string; createdMs: number };

/**
 * What one path needs in a merge. "theirs": it becomes what the other transaction has. "merge": the three contents are
 * to be merged, or, without them, only the mode. `reason`: of a "conflict". `mode`: of the result; 0: the one that is
 * there. `removed`: another path that goes, ""; none.
 */
export type MergeStep = {
  path: string;
  verdict: "theirs" | "merge" | "conflict";
  reason: string;
  mode: number;
  removed: string;
  base?: Uint8Array;
  ours?: Uint8Array;
  theirs?: Uint8Array;
};

/** What a merge does: `theirs` are taken from the other transaction, `files` get contents, where given, and mode. */
export type MergeRequest = {
  theirs: { path: string; mode: number }[];
  files: { path: string; mode: number; contents?: Uint8Array }[];
  removed: string[];
};

/** Facts about a transaction after it was opened. */
export type OpenedTransaction = {
  id: string;
  backend: Transaction["backend"];
  backendReason?: string;
  parent?: string;
  /** Set for a copy that was made. */
  copied?: CopyProgress;
  recovered?: NonNullable<Transaction["recovered"]>;
};

/** An element of `listTransactions`. */
export type NativeListedTransaction = Omit<ListedTransaction, "createdAt"> & {
  /** Milliseconds since 1970. */
  createdMs: number;
};

/**
 * Says what transactions hold; `totalBytes` is the sum, in which each file counts once. `isWhole` is false if a transaction has
 * directories that keep their owner out, in which nothing is counted.
 */
export type NativeSpaceReport = {
  each: (TransactionSpace & { id: string; isWhole: boolean })[];
  totalBytes: number;
};

/** The request of a commit; `protectedNames`: files that code of the host runs on its own; `homes`: of this user. */
export type CommitRequest = Pick<CommitOptions, "paths" | "exact" | "allowProtected"> & {
  protectedNames: readonly string[];
  homes: readonly string[];
  contents?: { path: string; data: string | Uint8Array }[];
  expected?: { path: string; version: string }[];
};

/** Changes as packed by native/addon/workspace/transaction_values.h; `numbers` are the bytes of doubles. */
export type PackedChanges = { text: string; numbers: Uint8Array };

/** The changes grouped by result; entries in the last three prevent all other changes. */
export type CommitAnswer = {
  committed: PackedChanges;
  /** For `committed`: SHA-256 in hexadecimal digits; "" if none was computed. */
  digests: string[];
  left: PackedChanges;
  conflicts: Change[];
  refused: Change[];
  unexpected: string[];
};
