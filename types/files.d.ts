/** The public types for files of a workspace; shipped and re-exported like public.d.ts. */

/**
 * Path of an entry in a workspace, in any form that `cwd` accepts: "a/b", "/a/b", "workspace/a/b" and
 * "/workspace/a/b" are the same place; "" and "/workspace" are the root of the workspace. A path that leaves
 * the workspace by ".." is a TypeError. Use a `Uint8Array` for names that are not valid UTF-8.
 */
export type WorkspacePath = string | Uint8Array;

/** Type of an entry. "other": a FIFO, a socket or a device. */
export type WorkspaceEntryType = "file" | "directory" | "symlink" | "other";

/** Metadata of an entry; for a symbolic link, of the link itself. */
export type WorkspaceStat = {
  /** Type of the entry. */
  type: WorkspaceEntryType;
  /** Size in bytes. */
  size: number;
  /** Permission bits, such as 0o644, including the set-id and sticky bits. */
  mode: number;
  /** Time of the last content change, in milliseconds since the epoch. */
  mtimeMs: number;
  /**
   * Identifies this state of the entry, for {@link WorkspaceWriteOptions.ifUnchanged}; its format is
   * unspecified.
   */
  version: string;
};

/** An entry of a directory. */
export type WorkspaceEntry = {
  /** The path in the form that the methods take, with U+FFFD for bytes that are not valid UTF-8. */
  path: string;
  /** The bytes of the path, set if it is not valid UTF-8; `path` then does not name the entry. */
  pathBytes?: Uint8Array;
  /** Type of the entry. */
  type: WorkspaceEntryType;
};

/** Options of `read`. */
export type WorkspaceReadOptions = {
  /**
   * Maximum size of the file in bytes, 0 to 2^31-1: a larger file is ERR_FS_FILE_TOO_LARGE. Default 64 MiB.
   */
  maxBytes?: number | undefined;
};

/** Options of `readText`. */
export type WorkspaceReadTextOptions = WorkspaceReadOptions & {
  /**
   * If true, invalid UTF-8 is a TypeError, ERR_ENCODING_INVALID_ENCODED_DATA: for text that is going to be
   * written back. Default false: invalid bytes become U+FFFD.
   */
  fatal?: boolean | undefined;
};

/** Options of `write`. */
export type WorkspaceWriteOptions = {
  /**
   * Exact permission bits, 0 to 0o777. Default: those of the replaced file, or, for a new file, 0o666 less
   * the process's umask.
   */
  mode?: number | undefined;
  /**
   * The `version` that the file must still have; otherwise ERR_FILE_CHANGED. null: no entry may have the
   * name; otherwise EEXIST. Default: an existing file is replaced.
   */
  ifUnchanged?: string | null | undefined;
  /** If true, the file is on disk when the promise resolves (fsync), like `flush` of Node. Default false. */
  flush?: boolean | undefined;
};

/** Options of `list`. */
export type WorkspaceListOptions = {
  /** If true, also lists the contents of subdirectories. Links are not followed. Default false. */
  recursive?: boolean | undefined;
  /** Maximum number of entries, 1 to 2^24; more are ERR_FS_TOO_MANY_ENTRIES. Default 10 000. */
  maxEntries?: number | undefined;
};

/** Options of `mkdir`. */
export type WorkspaceMkdirOptions = {
  /** If true, parents are created too, and an existing directory is not an error. Default false. */
  recursive?: boolean | undefined;
  /** Permission bits, 0 to 0o777, less the umask. Default 0o777. */
  mode?: number | undefined;
};

/** Options of `remove`. */
export type WorkspaceRemoveOptions = {
  /** If true, a directory is removed with its contents. Default false: the directory must be empty. */
  recursive?: boolean | undefined;
};

/**
 * The files of a workspace, for use by the tools of a host. Every path is resolved below the workspace and
 * without following symbolic links, so a link planted by a command leads nowhere. Only regular files are read
 * and written. All work is done off the JavaScript thread.
 *
 * Every method rejects with a TypeError or RangeError on misuse; with an Error like those of `node:fs`, with
 * `code` (ENOENT, ELOOP for a symbolic link, EISDIR, ENOTDIR, ENXIO for a FIFO, socket or device, EEXIST,
 * ENOTEMPTY, ENOSPC, EROFS, EACCES, …), `errno`, `syscall` and `path`; with a SandboxError if the workspace
 * is missing (ERR_SANDBOX_SETUP) or this host can't do it safely (ERR_SANDBOX_UNAVAILABLE: no Linux, no
 * openat2).
 */
export interface WorkspaceFiles {
  /** Returns all bytes of a file. */
  read(path: WorkspacePath, options?: WorkspaceReadOptions): Promise<Uint8Array>;
  /** Returns a file decoded as UTF-8, including a byte order mark. */
  readText(path: WorkspacePath, options?: WorkspaceReadTextOptions): Promise<string>;
  /**
   * Writes a whole file, or leaves the existing one unchanged; a string is written as UTF-8. Resolves with
   * the metadata of the new file, including the `version` for the next write.
   */
  write(
    path: WorkspacePath,
    data: Uint8Array | string,
    options?: WorkspaceWriteOptions,
  ): Promise<WorkspaceStat>;
  /** Lists a directory in order of names; each subdirectory is followed directly by its own entries. */
  list(path: WorkspacePath, options?: WorkspaceListOptions): Promise<WorkspaceEntry[]>;
  /** Returns the metadata of an entry. */
  stat(path: WorkspacePath): Promise<WorkspaceStat>;
  /** Creates a directory. */
  mkdir(path: WorkspacePath, options?: WorkspaceMkdirOptions): Promise<void>;
  /** Renames an entry; an existing entry with the new name is replaced. */
  rename(from: WorkspacePath, to: WorkspacePath): Promise<void>;
  /** Removes an entry; for a link, the link itself. */
  remove(path: WorkspacePath, options?: WorkspaceRemoveOptions): Promise<void>;
}
