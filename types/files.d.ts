/** Types of a workspace's files; shipped and re-exported as public.d.ts is. */

/**
 * Where an entry of a workspace is, in the forms of `cwd`: "a/b", "/a/b", "workspace/a/b" and
 * "/workspace/a/b" are the same place, "" and "/workspace" its root. One that leaves the workspace by
 * ".." is a TypeError. A `Uint8Array` is for names that are no UTF-8.
 */
export type WorkspacePath = string | Uint8Array;

/** What an entry is. "other": a FIFO, a socket or a device. */
export type WorkspaceEntryType = "file" | "directory" | "symlink" | "other";

/** What is known of an entry; of a symbolic link, itself. */
export type WorkspaceStat = {
  /** What it is. */
  type: WorkspaceEntryType;
  /** Bytes. */
  size: number;
  /** Permission bits, as 0o644; with the set-id and sticky bits. */
  mode: number;
  /** When its content last changed, in milliseconds since the epoch. */
  mtimeMs: number;
  /** Of this state of it, for {@link WorkspaceWriteOptions.ifUnchanged}; nothing else is promised of the text. */
  version: string;
};

/** An entry of a directory. */
export type WorkspaceEntry = {
  /** As the methods take it; with U+FFFD for what is no UTF-8. */
  path: string;
  /** The path's bytes, where it is no UTF-8: `path` does not name the entry then. */
  pathBytes?: Uint8Array;
  /** What it is. */
  type: WorkspaceEntryType;
};

/** Options of `read`. */
export type WorkspaceReadOptions = {
  /** Most bytes of the file, 0 to 2^31-1: a larger one is ERR_FS_FILE_TOO_LARGE. Default 64 MiB. */
  maxBytes?: number | undefined;
};

/** Options of `readText`. */
export type WorkspaceReadTextOptions = WorkspaceReadOptions & {
  /**
   * Whether what is no UTF-8 is a TypeError, ERR_ENCODING_INVALID_ENCODED_DATA: for text that is
   * going to be written back. Default false: it becomes U+FFFD.
   */
  fatal?: boolean | undefined;
};

/** Options of `write`. */
export type WorkspaceWriteOptions = {
  /**
   * Permission bits, 0 to 0o777, exactly so. Default: those of the file that is replaced; of a new
   * one 0o666 less the process's umask.
   */
  mode?: number | undefined;
  /**
   * The `version` that the file has to have still, else ERR_FILE_CHANGED; null: nothing may have the
   * name, else EEXIST. Default: whatever is there is replaced.
   */
  ifUnchanged?: string | null | undefined;
  /** Whether it is on the disk when the promise resolves (fsync), as Node's `flush`. Default false. */
  flush?: boolean | undefined;
};

/** Options of `list`. */
export type WorkspaceListOptions = {
  /** Whether what is in its directories comes too. Links are not followed. Default false. */
  recursive?: boolean | undefined;
  /** Most entries, 1 to 2^24: more are ERR_FS_TOO_MANY_ENTRIES. Default 10 000. */
  maxEntries?: number | undefined;
};

/** Options of `mkdir`. */
export type WorkspaceMkdirOptions = {
  /** Whether parents are made too, and a directory that is there is no error. Default false. */
  recursive?: boolean | undefined;
  /** Permission bits, 0 to 0o777, of which the umask is taken. Default 0o777. */
  mode?: number | undefined;
};

/** Options of `remove`. */
export type WorkspaceRemoveOptions = {
  /** Whether a directory goes with all that it holds. Default false: it has to be empty. */
  recursive?: boolean | undefined;
};

/**
 * The files of a workspace, for the tools of a host: every step is taken below the workspace and
 * through no symbolic link, so a link that a command has planted leads nowhere. Only regular files are
 * read and written. All work is done off the JavaScript thread.
 *
 * Every method rejects with a TypeError or RangeError on misuse; with an Error as those of
 * `node:fs`, with `code` (ENOENT, ELOOP for a symbolic link, EISDIR, ENOTDIR, ENXIO for a FIFO, socket
 * or device, EEXIST, ENOTEMPTY, ENOSPC, EROFS, EACCES, …), `errno`, `syscall` and `path`; with a
 * SandboxError where the workspace is missing (ERR_SANDBOX_SETUP), or this host can't do it safely
 * (ERR_SANDBOX_UNAVAILABLE: no Linux, no openat2).
 */
export interface WorkspaceFiles {
  /** All bytes of a file. */
  read(path: WorkspacePath, options?: WorkspaceReadOptions): Promise<Uint8Array>;
  /** A file as UTF-8, with its byte order mark where it has one. */
  readText(path: WorkspacePath, options?: WorkspaceReadTextOptions): Promise<string>;
  /**
   * Writes a file whole, or leaves what was there; a string as UTF-8. Resolves with what is known of
   * the new file, among it the `version` for the next write.
   */
  write(
    path: WorkspacePath,
    data: Uint8Array | string,
    options?: WorkspaceWriteOptions,
  ): Promise<WorkspaceStat>;
  /** What a directory holds, by name, each directory's entries directly behind it. */
  list(path: WorkspacePath, options?: WorkspaceListOptions): Promise<WorkspaceEntry[]>;
  /** What is known of an entry. */
  stat(path: WorkspacePath): Promise<WorkspaceStat>;
  /** Makes a directory. */
  mkdir(path: WorkspacePath, options?: WorkspaceMkdirOptions): Promise<void>;
  /** Renames an entry; what has the new name already is replaced. */
  rename(from: WorkspacePath, to: WorkspacePath): Promise<void>;
  /** Removes an entry; of a link, itself. */
  remove(path: WorkspacePath, options?: WorkspaceRemoveOptions): Promise<void>;
}
