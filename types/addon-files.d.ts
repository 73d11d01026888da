/** What the addon does with the files of a workspace; see addon.d.ts. */

import type {
  WorkspaceEntry,
  WorkspaceListOptions,
  WorkspaceMkdirOptions,
  WorkspacePath,
  WorkspaceReadOptions,
  WorkspaceRemoveOptions,
  WorkspaceStat,
  WorkspaceWriteOptions,
} from "./files.js";

/** Of what a runner's options say of its workspace. */
export type WorkspaceFilesOptions = {
  shadowDir: string;
  /** Whether files may be read and directories listed. Default true. */
  read?: boolean | undefined;
  /** Whether anything may be changed. Default true. */
  write?: boolean | undefined;
};

/**
 * All that a workspace holds. For each entry six unsigned 64-bit numbers: st_mode, device, inode, size,
 * mtime and ctime in nanoseconds; and in the text its path, and of a symbolic link its target, each
 * with a NUL behind it. The first is the workspace itself, ".".
 */
export type WorkspaceSurvey = { text: string; numbers: Uint8Array };

/** The files of a workspace. All throw on misuse, and reject with errors as Node's file system has them. */
export interface WorkspaceFilesHandle {
  read(path: WorkspacePath, options?: WorkspaceReadOptions): Promise<Uint8Array>;
  /** Copies `data`. */
  write(
    path: WorkspacePath,
    data: Uint8Array | string,
    options?: WorkspaceWriteOptions,
  ): Promise<WorkspaceStat>;
  list(path: WorkspacePath, options?: WorkspaceListOptions): Promise<WorkspaceEntry[]>;
  /** EILSEQ, with `path`, where a path or a target is no UTF-8. */
  survey(options?: { maxEntries?: number }): Promise<WorkspaceSurvey>;
  stat(path: WorkspacePath): Promise<WorkspaceStat>;
  mkdir(path: WorkspacePath, options?: WorkspaceMkdirOptions): Promise<void>;
  rename(from: WorkspacePath, to: WorkspacePath): Promise<void>;
  remove(path: WorkspacePath, options?: WorkspaceRemoveOptions): Promise<void>;
}
