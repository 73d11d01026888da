/** The public types of transactions; shipped and re-exported like public.d.ts. */

import type { WorkspaceFiles } from "./files.js";
import type { RunnerMetrics } from "./metrics.js";
import type {
  BubblewrapExplanation,
  NativeRunner,
  NativeSpawnInput,
  RunnerExecInput,
  SandboxedAuditRecord,
  SandboxedExecResult,
  SandboxProcess,
} from "./public.js";
import type { BatchOptions, NativeSession, SessionOptions } from "./session.js";

/** A transaction's change to one path of the workspace. */
export type Change = {
  /** Path relative to the workspace; "." is the workspace itself. Invalid UTF-8 bytes appear as U+FFFD. */
  path: string;
  /**
   * A path whose type has changed is "modified". "renamed": the host has the same non-empty file at `from`
   * and nothing at this path, and the transaction no longer has it at `from`. Only files are reported as
   * renamed: a renamed directory is reported as deleted and added, and its contents individually.
   */
  kind: "added" | "modified" | "deleted" | "renamed";
  /** Former path of a file that is "renamed", in the form of `path`; `from` has no change of its own. */
  from?: string;
  /** Type of the entry, or, if it was deleted, its former type. "other": a FIFO, a socket or a device. */
  type: "file" | "directory" | "symlink" | "other";
  /** Size in bytes of a file or of a link's target; 0 for a deleted entry and for all other types. */
  size: number;
  /** Like `size`, for the host's entry (at `from`, if that is set); 0 if the host has none. */
  previousSize: number;
  /** Type and permissions, like `fs.Stats.mode`; 0 for a deleted entry. */
  mode: number;
  /** Like `mode`, for the host's entry (at `from`, if that is set); 0 if the host has none. */
  previousMode: number;
  /** Target of a symbolic link. */
  target?: string;
  /**
   * Set if the host has also changed the path, or `from`, since the transaction did, or has removed or
   * replaced a directory that contains it. If the host changed a path while the command that first changed it
   * was running, this may be set needlessly, but is never missing: see docs/transactions.md.
   */
  conflict?: true;
  /**
   * With `details`: a text that identifies this state of the path, for `expected` of a commit; its format is
   * unspecified.
   */
  version?: string;
  /**
   * With `details`: when the path was last changed in the transaction (its ctime, which a command can't set).
   * Not set if unknown: for deleted paths in a copy.
   */
  changedAt?: Date;
  /** With `details`: set if a commit refuses the change unless `allowProtected` names it. */
  protected?: true;
};

/** Options of `changes`. */
export type ChangesOptions = {
  /** Paths relative to the workspace: these and everything below them. Default: all changes. */
  paths?: readonly string[] | undefined;
  /** If true, `version`, `changedAt` and `protected` are reported too. Default false. */
  details?: boolean | undefined;
  /**
   * Another open transaction of the same workspace and process: returns what this one has otherwise than that one,
   * whose entries are then what `previousSize`, `previousMode`, `from` and "deleted" refer to. Not with `details`.
   * Default: the changes against the host's files.
   */
  since?: Transaction | undefined;
  /**
   * Another open transaction of the same workspace and process: returns what this one has changed since both parted, by
   * a fork, or since the last merge of the two; where that is not known, against the host's files. Neither with `since`
   * nor with `details`.
   */
  sinceFork?: Transaction | undefined;
};

/** Options of `diff`. */
export type DiffOptions = {
  /** See {@link ChangesOptions}. */
  paths?: readonly string[] | undefined;
  /** See {@link ChangesOptions}. */
  since?: Transaction | undefined;
  /** See {@link ChangesOptions}. */
  sinceFork?: Transaction | undefined;
  /** Maximum size of the text in bytes of UTF-8, an integer up to 256 MiB. Default 16 MiB. */
  maxBytes?: number | undefined;
};

/** Options of `commit`. */
export type CommitOptions = {
  /**
   * Paths relative to the workspace: these and everything below them. Default: all changes. The two paths of
   * a rename are separate changes: one may be committed without the other.
   */
  paths?: readonly string[] | undefined;
  /**
   * If true, `paths` does not include what is below them. Missing parent directories are committed in any
   * case. Default false.
   */
  exact?: boolean | undefined;
  /**
   * Protected paths that may be changed nevertheless, with everything below them, relative to the workspace:
   * files that git, a shell or an editor of the host runs on its own, such as `.git/hooks`. Default none.
   */
  allowProtected?: readonly string[] | undefined;
  /**
   * The changes that a person or a program has reviewed, as `changes` returned them with `details`. If any of
   * them has changed since, or a change below `paths` is new, nothing is committed. Directories that must be
   * created for reviewed changes are exempt. Default: all changes are committed as they are.
   */
  expected?: readonly Change[] | undefined;
  /**
   * Contents for the host, by path, that replace the transaction's for some of the committed files; a string
   * is written as UTF-8. The transaction keeps its own contents, so the rest of the file remains as a change.
   * Default none.
   */
  contents?: Readonly<Record<string, string | Uint8Array>> | undefined;
  /**
   * If true, what the host has changed too since the transaction changed it is merged: three ways against what the
   * host had then, texts by their lines, modes apart from contents. The result is the transaction's from then on, and
   * is what is committed. Where that can't be done the commit rejects as without it, with `reasons`: as
   * for {@link Transaction.merge}, and where it is not known what the host had: see docs/transactions.md. Not with
   * `expected` or `contents`. Default false.
   */
  merge?: boolean | undefined;
  /** Who approved the commit, recorded only: any text of at most 1,000 characters. Default none. */
  approvedBy?: string | undefined;
};

/** Options of `fork`. */
export type ForkOptions = {
  /** Number of forks, an integer from 1 to 100; they begin one after the other. Default: one, not in an array. */
  count?: number | undefined;
  /**
   * If true, waits until no command runs in the transaction; commands started meanwhile wait until it is forked.
   * Default false: what running commands are writing is in the fork as after a crash.
   */
  quiesce?: boolean | undefined;
};

/** Options of `merge`. */
export type MergeOptions = {
  /** Paths relative to the workspace: these and everything below them. Default: all changes. */
  paths?: readonly string[] | undefined;
  /**
   * What becomes of a path that both have changed, and that can't be merged. "fail": nothing is merged, and `merge`
   * rejects. "ours", "theirs": one side is taken, of a text only where its lines conflict. "markers": a text gets both
   * sides' lines between the marks that git writes; any other conflict is as with "fail". Default "fail".
   */
  onConflict?: "fail" | "ours" | "theirs" | "markers" | undefined;
};

/** A path that both sides of a merge have changed, and that could not be merged. */
export type MergeConflict = {
  /** Path relative to the workspace. */
  path: string;
  /** What each side has done, in words for a person. */
  reason: string;
};

/** The result of `merge` and `adopt`. */
export type MergeReport = {
  /** The paths that were taken from the other transaction or merged with it, in the order of their bytes. */
  merged: string[];
  /** The conflicts that `onConflict` has decided. */
  conflicts: MergeConflict[];
  /** The record of what was done; also published as `TransactionMessage`. */
  audit: TransactionAudit;
};

/** A state of a transaction that `rollback` can restore. */
export type Checkpoint = {
  /** Twelve hexadecimal digits. */
  readonly id: string;
  /** The name passed to `checkpoint`. */
  readonly name?: string;
  /** When the checkpoint was created, by the host's clock. */
  readonly createdAt: Date;
};

/** The result of a commit. */
export type CommitReport = {
  /** With `merge`: the paths that the host had changed too, and that were merged, in the order of their bytes. */
  merged?: string[];
  /** Changes that the host now has, in the order of the paths' bytes. */
  committed: Change[];
  /**
   * Changes that remain: those not requested, those that are neither file, link nor directory, and
   * directories that can't be removed because an entry in them remains.
   */
  left: Change[];
  /** The record of what was written and who approved it; also published as `TransactionMessage`. */
  audit: TransactionAudit;
};

/** A commit's change to one path. */
export type CommittedPath = {
  /** See {@link Change}. */
  path: string;
  /** See {@link Change}. */
  kind: Change["kind"];
  /** See {@link Change}. */
  type: Change["type"];
  /** Former path of a renamed file. */
  from?: string;
  /** Size in bytes; see {@link Change}. */
  size: number;
  /**
   * SHA-256 of the new contents of a regular file, as 64 hexadecimal digits. Computed for at most 10,000
   * files and 256 MiB, and not for files whose mode denies reading to everyone.
   */
  sha256?: string;
};

/** A command that ran in a transaction. Survives `JSON.stringify`, except for the date. */
export type TransactionRun = {
  /** When the command had ended, by the host's clock; it began `audit.durationMs` earlier. */
  endedAt: Date;
  /** The exit code of the result. */
  exitCode: number;
  /** The command's audit record. */
  audit: SandboxedAuditRecord;
};

/** The record of an action on a transaction, successful or not. Survives `JSON.stringify`. */
export type TransactionAudit = {
  /** Distinguishes the record from that of a run. */
  kind: "native.transaction";
  /** The id of the transaction. */
  transaction: string;
  /** The requested action. */
  action: "commit" | "undo" | "checkpoint" | "rollback" | "discard" | "fork" | "merge" | "adopt";
  /** When the action settled, in the format of `Date.prototype.toISOString`. */
  at: string;
  /** Duration in milliseconds from the call until it settled. */
  durationMs: number;
  /**
   * "done"; "conflict", "protected" or "unexpected": the errors that {@link TransactionError} describes, and
   * nothing was changed; "failed": the call rejected for another reason.
   */
  outcome: "done" | "conflict" | "protected" | "unexpected" | "failed";
  /** The `approvedBy` of a commit. */
  approvedBy?: string;
  /** The id of the checkpoint that was created or rolled back to. */
  checkpoint?: string;
  /** The ids of the forks that were made. */
  forks?: string[];
  /** The id of the transaction that was merged or adopted. */
  from?: string;
  /** The paths that a completed commit wrote: the first 10,000 in the order of their bytes. */
  committed?: CommittedPath[];
  /** Number of further paths that a completed commit wrote. */
  omitted?: number;
  /**
   * Number of paths that a completed merge, or adoption, has changed in the transaction; of a commit with `merge`,
   * that were merged with what the host had changed.
   */
  merged?: number;
  /** For "conflict", "protected" and "unexpected": the paths that caused it, the first 100. */
  paths?: string[];
};

/**
 * A runner whose commands work on the current project while their changes stay separate from it until the
 * caller commits or discards them. All commands of the transaction, concurrent or sequential, see each
 * other's changes. An overlay also shows changes of the host to entries that the commands have not changed:
 * in-place writes to a file at once, all other changes to commands that start afterwards. A copy does not.
 *
 * `await using` discards it. A transaction that is no longer referenced, or whose process ends, stays on disk
 * in the state that {@link close} leaves.
 */
export interface Transaction extends NativeRunner, AsyncDisposable {
  /** Twelve hexadecimal digits; the name of the transaction's directory on disk. */
  readonly id: string;
  /** The backend in use. Audit records have the layer "transaction:overlay" or "transaction:copy". */
  readonly backend: "overlay" | "copy";
  /** The id of the transaction that it was forked from; undefined: it was opened. */
  readonly parent: string | undefined;
  /** Why "auto" selected a copy: what an overlay lacks here. Otherwise undefined. */
  readonly backendReason: string | undefined;
  /**
   * Like the runner's `exec`, in the transaction.
   *
   * @throws (rejects) like the runner's; {@link SandboxError} ERR_SANDBOX_CLOSED after it was closed or
   * discarded.
   */
  exec(input: RunnerExecInput): Promise<SandboxedExecResult>;
  /** Like the runner's `explain`, in the transaction. */
  explain(input: RunnerExecInput): Promise<BubblewrapExplanation>;
  /** Like the runner's `spawn`, in the transaction. */
  spawn(input: NativeSpawnInput): Promise<SandboxProcess>;
  /** Like the runner's `openSession`, in the transaction. */
  openSession(options?: SessionOptions): Promise<NativeSession>;
  /** Like the runner's `execBatch`, in the transaction. */
  execBatch(
    commands: readonly (RunnerExecInput | string[])[],
    options?: BatchOptions,
  ): Promise<SandboxedExecResult[]>;
  /**
   * Like the runner's `files`, for the files as the transaction's commands see them; writes become changes of
   * the transaction. Calls reject with {@link SandboxError} ERR_SANDBOX_CLOSED after it was closed or
   * discarded.
   */
  readonly files: WorkspaceFiles;
  /** Like the runner's `warm`, for the transaction's own prewarmed sandboxes. */
  warm(): Promise<number>;
  /**
   * Like the runner's `metrics`, for what ran in the transaction. Commits and other actions also count for
   * the runner.
   */
  metrics(): RunnerMetrics;
  /**
   * Returns the changes of the commands so far, in the order of the paths' bytes: each file, link and
   * directory individually. A file whose contents, mode, owner and attributes equal the host's is not a
   * change, whatever its times. Commands may continue meanwhile. Works on another thread, and compares the
   * contents of files of equal size. A rename with only one side in `paths` is reported as added or deleted.
   *
   * @throws (rejects) TypeError for a path outside the workspace; {@link SandboxError} ERR_SANDBOX_CLOSED
   * after it was closed, ERR_SANDBOX_SETUP if an entry can't be read or there are more than a million
   * changes.
   */
  changes(options?: ChangesOptions): Promise<Change[]>;
  /**
   * Returns the commands that ran in the transaction, oldest first, in this process and earlier ones: at
   * least the last 10,000, or 16 MiB of them. Commands that had just ended when their process died may be
   * missing.
   *
   * @throws (rejects) an Error of `node:fs` if the records can't be read.
   */
  runs(): Promise<TransactionRun[]>;
  /**
   * Returns the same changes as one text in git's format: `git apply` of it, on the workspace in its original
   * state, produces the same files, links and executable bits. Files that are not valid UTF-8, or contain a
   * NUL byte, are binary patches. Omits what git does not track: empty directories, other permissions,
   * owners, attributes, FIFOs. Works on another thread; for two texts that differ greatly, the diff may not
   * be the shortest. Leaves out a file that a command removes or replaces while this runs.
   *
   * @throws (rejects) like `changes`; RangeError if the text would exceed `maxBytes`; {@link SandboxError}
   * ERR_SANDBOX_SETUP if a file can't be read or exceeds 128 MiB.
   */
  diff(options?: DiffOptions): Promise<string>;
  /**
   * Applies the changes to the host's files: all that are requested, or none. Each file replaces the host's
   * by one rename, and the host's file is kept as a backup for {@link undo}. First checks that the commit is
   * possible; then ends running commands and sessions of the transaction. Commands started meanwhile wait and
   * then see, in an overlay, the host's current files. If the process dies meanwhile, either nothing or
   * everything is changed: see {@link recovered}. Removes all checkpoints.
   *
   * @throws (rejects) {@link TransactionError} ERR_TRANSACTION_CONFLICT, with `conflicts`, if the host has
   * changed any of the paths too; with `merge` also with `reasons`; ERR_TRANSACTION_PROTECTED if a path is protected;
   * ERR_TRANSACTION_UNEXPECTED if a change differs from `expected`. In all these cases nothing was changed.
   * TypeError for a path outside the workspace, and for `contents` of a path that is not a committed file;
   * {@link SandboxError} ERR_SANDBOX_SETUP if the file system refuses, for example for lack of space, or if others
   * have changed files meanwhile so that it could not be taken back whole: then `fix` names where the old files are;
   * ERR_SANDBOX_CLOSED after it was closed.
   */
  commit(options?: CommitOptions): Promise<CommitReport>;
  /**
   * Undoes the last commit completely: the host's files are restored, and the committed changes are the
   * transaction's again. Ends running commands, even if the undo is then refused, and removes all
   * checkpoints.
   *
   * @throws (rejects) {@link TransactionError} ERR_TRANSACTION_CONFLICT, with `paths`, if the host has
   * changed what was committed: then nothing was changed; {@link SandboxError} ERR_SANDBOX_SETUP if there is
   * no commit, or the file system refuses.
   */
  undo(): Promise<void>;
  /**
   * Saves the current changes so that {@link rollback} can restore them. Costs a copy of them in disk space
   * and time (with the "copy" backend, a copy of all files), or almost nothing on a file system whose files
   * can share blocks (btrfs, XFS). Commands started meanwhile wait. The checkpoint survives `close` and
   * `resumeTransaction`, until the next commit or undo.
   *
   * @param name for the user: any text of at most 256 characters without a NUL.
   * @throws (rejects) TypeError for an invalid name; {@link TransactionError} ERR_TRANSACTION_BUSY while a
   * command runs in the transaction, in a session or not; {@link SandboxError} ERR_SANDBOX_SETUP if its files
   * are still being written to, or the file system refuses, ERR_SANDBOX_CLOSED after it was closed.
   */
  checkpoint(name?: string): Promise<Checkpoint>;
  /** Returns the existing checkpoints, oldest first. @throws (rejects) like `changes`. */
  checkpoints(): Promise<Checkpoint[]>;
  /**
   * Restores the transaction's changes exactly as they were at a checkpoint. Ends running commands, like a
   * commit. The checkpoint remains; later ones are removed. If the process dies meanwhile, the rollback is
   * either complete or not begun when the transaction is resumed.
   *
   * @param to the checkpoint, or its id.
   * @throws (rejects) TypeError if the checkpoint no longer exists: then nothing was ended;
   * {@link SandboxError} ERR_SANDBOX_SETUP if the file system refuses, ERR_SANDBOX_CLOSED after it was closed.
   */
  rollback(to: Checkpoint | string): Promise<void>;
  /**
   * Opens a transaction that begins as this one is now; both go on apart, in the same directory on disk. The home, the
   * package caches and the checkpoints of this one go along. Commands may continue meanwhile. Costs a copy of what was
   * changed (with the "copy" backend, of all files), or little on a file system whose files can share blocks. If the
   * process dies meanwhile, the fork does not exist.
   *
   * @throws (rejects) TypeError or RangeError for wrong options; {@link SandboxError} ERR_SANDBOX_SETUP if the file
   * system refuses, ERR_SANDBOX_CLOSED after it was closed.
   */
  fork(options?: ForkOptions & { count?: undefined }): Promise<Transaction>;
  /** Opens several: see above. */
  fork(options: ForkOptions & { count: number }): Promise<Transaction[]>;
  /**
   * Merges what another transaction has changed since both parted: three ways, by path and type, texts by their lines;
   * all or nothing. What both have made the same of, and what was merged before, is no conflict. A file that one side
   * has renamed unchanged, and the other one changed, is changed under its new name. Ends running commands of this
   * transaction, not of the other one, which stays as it is. Where nothing is known any more of where they parted, since
   * a transaction between them was discarded, the host's files are in its place. If the process dies meanwhile, all
   * or nothing is merged when the transaction is resumed.
   *
   * @param from an open transaction of the same workspace and process.
   * @throws (rejects) TypeError for wrong options; {@link TransactionError} ERR_TRANSACTION_CONFLICT, with `reasons`, by
   * `onConflict`: then nothing was changed and no command ended; {@link SandboxError} ERR_SANDBOX_SETUP if the file
   * system refuses, ERR_SANDBOX_CLOSED after one of them was closed.
   */
  merge(from: Transaction, options?: MergeOptions): Promise<MergeReport>;
  /**
   * Makes the files of this transaction those of another one, all or nothing; the other one stays as it is. The home
   * and the checkpoints remain its own. Otherwise like {@link merge}, without conflicts.
   *
   * @throws (rejects) like `merge`.
   */
  adopt(from: Transaction): Promise<MergeReport>;
  /**
   * For a resumed transaction: how a commit, an undo or a rollback was recovered in which its process had
   * died. "rolled-back": it has had no effect. "completed": it was done completely. "torn": some files could
   * not be restored because others had changed them by then; their backups are in the directory
   * `commit/aside` of the transaction, or in the directory that `commit/place` names.
   */
  readonly recovered: "rolled-back" | "completed" | "torn" | undefined;
  /** Ends running commands, and keeps the changes on disk. No further command can run. */
  close(): Promise<void>;
  /**
   * Ends running commands, and removes all changes: the workspace is as if no command had run.
   *
   * @throws (rejects) {@link SandboxError} ERR_SANDBOX_SETUP if an entry can't be removed.
   */
  discard(): Promise<void>;
}
