/** What native_runner.node has of transactions: a part of addon.d.ts, whose header holds here too. */

import type {
  Change,
  ChangesOptions,
  CommitOptions,
  DiffOptions,
  Transaction,
} from "./transaction.js";
import type { CopyProgress, ListedTransaction, TransactionBackend } from "./transaction-options.js";

/** A transaction of a workspace, still to be opened. Its calls work on other threads. */
export interface TransactionHandle {
  /**
   * Once. Both are absolute paths; `directory` is the one that transactions lie in. `resume`: the id of
   * one that is there. `onProgress` must not throw. Throws on misuse.
   */
  open(options: {
    workspace: string;
    directory: string;
    resume?: string;
    backend?: TransactionBackend;
    bwrapPath?: string;
    maxBytes?: number;
    onProgress?: (progress: CopyProgress) => void;
  }): Promise<OpenedTransaction>;
  /** Ends the making of a copy: `open` then rejects. Else nothing. */
  stop(): void;
  /** Whether `freshen` has to come before anything is begun in it. Costs a microsecond. */
  isStale(): boolean;
  /** The overlay looks at the host's files anew; mounts it where that has failed before. */
  freshen(): Promise<void>;
  /** Notes what the host has where commands have changed something, soon after each of them. */
  look(): Promise<void>;
  /** What was changed, in the order of the paths' bytes. Throws on misuse. */
  changes(options: { paths?: ChangesOptions["paths"]; versions?: boolean }): Promise<PackedChanges>;
  /** The same as one text, for `git apply`. Throws on misuse. */
  diff(options: DiffOptions): Promise<string>;
  /** What `commit` would do; nothing is done, and commands may go on. Throws on misuse. */
  check(request: CommitRequest): Promise<CommitAnswer>;
  /**
   * Brings the changes to the host, all or, where there are `conflicts` or `refused`, none. What runs
   * in it must have ended, and nothing is begun until this has settled. Throws on misuse.
   */
  commit(request: CommitRequest): Promise<CommitAnswer>;
  /** Takes the last commit back; resolves with the paths because of which it can't. */
  undo(): Promise<string[]>;
  /** Nothing may run in it, or begin, until it has settled. Throws on misuse. */
  checkpoint(options: { name?: string }): Promise<NativeCheckpoint>;
  /** The first first. */
  checkpoints(): Promise<NativeCheckpoint[]>;
  /** What runs in it must have ended, and nothing is begun until this has settled. Throws on misuse. */
  rollback(options: { id: string }): Promise<void>;
  /** Keeps it on disk. Nothing for one that is not open. */
  close(): Promise<void>;
  /** Removes it. What runs in it must have ended. */
  discard(): Promise<void>;
}

/** `name`: "" where it has none; milliseconds since 1970. */
export type NativeCheckpoint = { id: string; name: string; createdMs: number };

/** What is known of a transaction once it is open. */
export type OpenedTransaction = {
  id: string;
  backend: Transaction["backend"];
  backendReason?: string;
  /** Of a copy that was made. */
  copied?: CopyProgress;
  recovered?: NonNullable<Transaction["recovered"]>;
};

/** One of `listTransactions`. */
export type NativeListedTransaction = Omit<ListedTransaction, "createdAt"> & {
  /** Milliseconds since 1970. */
  createdMs: number;
};

/** What is to be committed; `protectedNames`: what code of the host's runs by itself. */
export type CommitRequest = Pick<CommitOptions, "paths" | "exact" | "allowProtected"> & {
  protectedNames: readonly string[];
  contents?: { path: string; data: string | Uint8Array }[];
  expected?: { path: string; version: string }[];
};

/** Changes as native/addon/workspace/transaction_values.h packs them; `numbers` are bytes of doubles. */
export type PackedChanges = { text: string; numbers: Uint8Array };

/** The changes by what becomes of them; those in the last three keep all others from it. */
export type CommitAnswer = {
  committed: PackedChanges;
  /** Of `committed`, SHA-256 in hexadecimal digits; "" where none was made. */
  digests: string[];
  left: PackedChanges;
  conflicts: Change[];
  refused: Change[];
  unexpected: string[];
};
