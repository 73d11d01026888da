/** The public types of transactions; shipped and re-exported as public.d.ts is. */

import type { WorkspaceFiles } from "./files.js";
import type { RunnerMetrics } from "./metrics.js";
import type {
  BubblewrapExplanation,
  NativeExecInput,
  NativeRunner,
  NativeSpawnInput,
  SandboxedAuditRecord,
  SandboxedExecResult,
  SandboxProcess,
} from "./public.js";
import type { BatchOptions, NativeSession, SessionOptions } from "./session.js";

/** What a transaction makes of one path of the workspace. */
export type Change = {
  /** Relative to the workspace; "." is the workspace itself. Bytes that are no UTF-8 show as U+FFFD. */
  path: string;
  /**
   * Of a path whose type has changed, "modified". "renamed": the host has the same file, with bytes in
   * it, at `from` and nothing here, and it is not at `from` any more. Told of files alone: what is in a
   * directory that has another name is told by itself, and the directory as deleted and added.
   */
  kind: "added" | "modified" | "deleted" | "renamed";
  /** Where a file that is "renamed" was, as `path`; it has no change of its own. */
  from?: string;
  /** Of what is there now, or was. "other": a FIFO, a socket or a device. */
  type: "file" | "directory" | "symlink" | "other";
  /** Bytes, of a file or a link's target; 0 where nothing is left, and of all else. */
  size: number;
  /** As `size`, of what the host has, at `from` if that is set; 0 where it has nothing. */
  previousSize: number;
  /** Type and permissions, as `fs.Stats.mode`; 0 where nothing is left. */
  mode: number;
  /** As `mode`, of what the host has, at `from` if that is set; 0 where it has nothing. */
  previousMode: number;
  /** Where a symbolic link points to. */
  target?: string;
  /**
   * Set where the host has changed the path, or `from`, too since the transaction did, or has removed
   * or replaced a directory that the change is in. Of what the host changed while the command ran that changed it
   * first, it may be set too much, never too little: see docs/transactions.md.
   */
  conflict?: true;
  /**
   * With `details`: a text that another state of the path does not have, for `expected` of a commit;
   * nothing else is promised of it.
   */
  version?: string;
  /**
   * With `details`: when it was last changed in the transaction (its ctime, which a command can't set).
   * Not set where that is not known: in a copy, of what is gone.
   */
  changedAt?: Date;
  /** With `details`: set where a commit refuses it unless `allowProtected` names it. */
  protected?: true;
};

/** Options of `changes`. */
export type ChangesOptions = {
  /** Relative to the workspace: these and all below them. Default: all there are. */
  paths?: readonly string[] | undefined;
  /** Whether `version`, `changedAt` and `protected` are told too. Default false. */
  details?: boolean | undefined;
};

/** Options of `diff`. */
export type DiffOptions = {
  /** As in {@link ChangesOptions}. */
  paths?: readonly string[] | undefined;
  /** The most that the text may have, in bytes of UTF-8, an integer up to 256 MiB. Default 16 MiB. */
  maxBytes?: number | undefined;
};

/** Options of `commit`. */
export type CommitOptions = {
  /**
   * Relative to the workspace: these and all below them. Default: all changes. Of a rename, each path
   * is a change by itself: one may be committed and the other left.
   */
  paths?: readonly string[] | undefined;
  /**
   * Whether `paths` are meant without what is below them. Directories that have to be made for them go
   * with them all the same. Default false.
   */
  exact?: boolean | undefined;
  /**
   * Protected paths that may be changed all the same, with all below them, relative to the workspace:
   * what git, a shell or an editor of the host's runs by itself, such as `.git/hooks`. Default none.
   */
  allowProtected?: readonly string[] | undefined;
  /**
   * What a person or a program has looked at, as `changes` told it with `details`: what has become
   * something else since, or is new below `paths`, is not committed, and nothing is. Directories that
   * have to be made for what was seen are no matter. Default: whatever there is.
   */
  expected?: readonly Change[] | undefined;
  /**
   * Of files among those that are committed, by path, what the host gets in place of what the
   * transaction has: a string as UTF-8. The transaction keeps its own, so that what is left of the
   * file waits as a change. Default none.
   */
  contents?: Readonly<Record<string, string | Uint8Array>> | undefined;
  /** Who has approved it, for the record alone: any text of at most 1,000 characters. Default none. */
  approvedBy?: string | undefined;
};

/** A moment of a transaction that `rollback` leads back to. */
export type Checkpoint = {
  /** Twelve hexadecimal digits. */
  readonly id: string;
  /** As it was given to `checkpoint`. */
  readonly name?: string;
  /** When it was made, by the host's clock. */
  readonly createdAt: Date;
};

/** What a commit has done. */
export type CommitReport = {
  /** What is the host's now, in the order of the paths' bytes. */
  committed: Change[];
  /**
   * What still waits: what was not asked for, what is neither file, link nor directory, and a directory
   * that can't go because something in it stays.
   */
  left: Change[];
  /** What was written, and by whose leave: also published, as `TransactionMessage`. */
  audit: TransactionAudit;
};

/** What a commit has made of one path. */
export type CommittedPath = {
  /** As in {@link Change}, and so are those below. */
  path: string;
  /** As in {@link Change}. */
  kind: Change["kind"];
  /** As in {@link Change}. */
  type: Change["type"];
  /** Of a path that was renamed: what it was. */
  from?: string;
  /** Bytes, as in {@link Change}. */
  size: number;
  /**
   * Of a regular file that was written, its new contents' SHA-256 as 64 hexadecimal digits. Made for
   * at most 10,000 files and 256 MiB, and of none that its mode lets nobody read.
   */
  sha256?: string;
};

/** A command that has run in a transaction. Survives `JSON.stringify`, but for the date. */
export type TransactionRun = {
  /** When it had ended, by the host's clock; it began `audit.durationMs` before. */
  endedAt: Date;
  /** As the result had it. */
  exitCode: number;
  /** Its record. */
  audit: SandboxedAuditRecord;
};

/** What was done with a transaction, or tried. Survives `JSON.stringify`. */
export type TransactionAudit = {
  /** Tells it from the record of a run. */
  kind: "native.transaction";
  /** Its id. */
  transaction: string;
  /** What was asked for. */
  action: "commit" | "undo" | "checkpoint" | "rollback" | "discard";
  /** When it settled, as `Date.prototype.toISOString` gives it. */
  at: string;
  /** How long it took, in milliseconds, from the call on. */
  durationMs: number;
  /**
   * "done"; "conflict", "protected" and "unexpected": as {@link TransactionError} says, and nothing has
   * changed; "failed": it rejected for another reason.
   */
  outcome: "done" | "conflict" | "protected" | "unexpected" | "failed";
  /** Of a commit: as it was given. */
  approvedBy?: string;
  /** Of a checkpoint that was made, and of a rollback: its id. */
  checkpoint?: string;
  /** Of a commit that was done: what it wrote, the first 10,000 paths in the order of their bytes. */
  committed?: CommittedPath[];
  /** Of a commit that was done: how many paths there were besides. */
  omitted?: number;
  /** Of "conflict", "protected" and "unexpected": the paths because of which, the first 100. */
  paths?: string[];
};

/**
 * A runner whose commands work on the project as it is, while what they change stays apart from it until
 * somebody says what becomes of it. All that it runs, at once or one after the other, sees the changes
 * of the others. An overlay shows what the host changes too, where they have not changed it themselves:
 * in a file that it writes to in place at once, else to whatever is begun after that. A copy does not.
 *
 * `await using` discards it. One that is no longer referenced, or whose process ends, stays on disk as
 * {@link close} leaves it.
 */
export interface Transaction extends NativeRunner, AsyncDisposable {
  /** Twelve hexadecimal digits; the name of its directory on disk. */
  readonly id: string;
  /** What it is made with. Its audits have the layer "transaction:overlay" or "transaction:copy". */
  readonly backend: "overlay" | "copy";
  /** Why it is a copy though "auto" was asked for: what an overlay lacks here. Else undefined. */
  readonly backendReason: string | undefined;
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
  /**
   * As the runner's `files`, of what the transaction's commands see; what they write is one of its
   * changes. Calls reject with {@link SandboxError} ERR_SANDBOX_CLOSED once it was closed or discarded.
   */
  readonly files: WorkspaceFiles;
  /** As the runner's `warm`: standing sandboxes of the transaction's own. */
  warm(): Promise<number>;
  /** As the runner's `metrics`, of what ran in it. A commit, say, counts with the runner's as well. */
  metrics(): RunnerMetrics;
  /**
   * What its commands have changed so far, in the order of the paths' bytes: each file, link and
   * directory by itself. A file whose contents, mode, owner and attributes are the host's is no change,
   * whatever its times. Commands may go on meanwhile. Works on another thread, and reads as far as files
   * of one size have the same contents. A rename of which `paths` has one side only is told as added,
   * or deleted.
   *
   * @throws (rejects) TypeError for a path outside of the workspace; {@link SandboxError}
   * ERR_SANDBOX_CLOSED once it was closed, ERR_SANDBOX_SETUP where something can't be read, and where
   * there are more than a million changes.
   */
  changes(options?: ChangesOptions): Promise<Change[]>;
  /**
   * The commands that have run in it, the first first, in this process and those before: of them the
   * last 10,000, or 16 MiB, at least. Those that a process had just ended when it died may be missing.
   *
   * @throws (rejects) an Error of `node:fs` where they can't be read.
   */
  runs(): Promise<TransactionRun[]>;
  /**
   * The same changes as one text in git's format: `git apply` of it, on the workspace as it was, gives
   * the same files, links and executable bits. Files that are no UTF-8, or hold a NUL byte, are binary
   * patches. Not in it is what git does not know: empty directories, other permissions, owners,
   * attributes, FIFOs. Works on another thread; of two texts that differ much, it need not be the
   * shortest.
   *
   * @throws (rejects) as `changes`; RangeError where there would be more than `maxBytes`;
   * {@link SandboxError} ERR_SANDBOX_SETUP where a file can't be read, or has more than 128 MiB.
   */
  diff(options?: DiffOptions): Promise<string>;
  /**
   * Brings the changes to the host's files: all that are asked for, or none. Each file takes the place
   * of the host's by one rename, and the host's is kept, for {@link undo}. First it is looked whether
   * that can be done; then what runs in the transaction is ended, sessions among it. Commands that are
   * begun meanwhile wait, and see in an overlay the host's files as they are then. A process that dies
   * meanwhile has changed nothing, or all: see {@link recovered}. Ends all checkpoints.
   *
   * @throws (rejects) {@link TransactionError} ERR_TRANSACTION_CONFLICT, with `changes`, where the host
   * has changed any of it too; ERR_TRANSACTION_PROTECTED where one is protected;
   * ERR_TRANSACTION_UNEXPECTED where one is not what was `expected`. In all cases nothing has changed.
   * TypeError for a path outside of the workspace, and for `contents` of what is no file that is
   * committed; {@link SandboxError}
   * ERR_SANDBOX_SETUP where the file system refuses, as for want of space; ERR_SANDBOX_CLOSED once it was
   * closed.
   */
  commit(options?: CommitOptions): Promise<CommitReport>;
  /**
   * Takes the last commit back, all of it: the host's files are those that they were, and its changes
   * are the transaction's again. Ends what runs, also where it is refused then, and all checkpoints.
   *
   * @throws (rejects) {@link TransactionError} ERR_TRANSACTION_CONFLICT, with `paths`, where the host
   * has changed what was committed: then nothing has changed; {@link SandboxError} ERR_SANDBOX_SETUP
   * where there is no commit, or the file system refuses.
   */
  undo(): Promise<void>;
  /**
   * Keeps what was changed so far, so that {@link rollback} leads back to it. Costs a copy of that, on
   * disk and in time, in a copy one of all files, or next to nothing on a file system whose files can
   * share their blocks (btrfs, XFS). Commands that are begun meanwhile wait. Stays over `close` and `resumeTransaction`, until
   * the next commit or undo.
   *
   * @param name for its user: any text of at most 256 characters without a NUL.
   * @throws (rejects) TypeError for a name that is none; {@link TransactionError}
   * ERR_TRANSACTION_BUSY while a command runs in it, in a session or not; {@link SandboxError}
   * ERR_SANDBOX_SETUP where something goes on writing to its files all the same, or the file system
   * refuses, ERR_SANDBOX_CLOSED once it was closed.
   */
  checkpoint(name?: string): Promise<Checkpoint>;
  /** Those that there are, the first first. @throws (rejects) as `changes`. */
  checkpoints(): Promise<Checkpoint[]>;
  /**
   * Makes the transaction's changes exactly what they were at a checkpoint. What runs in it is ended,
   * as by a commit. The checkpoint stays, and later ones are gone. Of a process that dies meanwhile it is
   * done, or not begun, when the transaction is resumed.
   *
   * @param to the checkpoint, or its id.
   * @throws (rejects) TypeError where there is no such checkpoint any more: then nothing was ended;
   * {@link SandboxError} ERR_SANDBOX_SETUP where the file system refuses, ERR_SANDBOX_CLOSED once it
   * was closed.
   */
  rollback(to: Checkpoint | string): Promise<void>;
  /**
   * Of one that was resumed: what was done about a commit, an undo or a rollback in which its process had died.
   * "rolled-back": it is as if it had not been begun. "completed": all of it was done. "torn": some
   * files could not be put back, because others had changed them by then; what they were is in the
   * directory `commit/aside` of the transaction, or in the one that `commit/place` there names.
   */
  readonly recovered: "rolled-back" | "completed" | "torn" | undefined;
  /** Ends what runs in it, and keeps what was changed on disk. No command can be run any more. */
  close(): Promise<void>;
  /**
   * Ends what runs in it, and removes all that was changed: the workspace is as if nothing had been run.
   *
   * @throws (rejects) {@link SandboxError} ERR_SANDBOX_SETUP where something can't be removed.
   */
  discard(): Promise<void>;
}
