/** The addon's operations on files of a workspace; see addon.d.ts. */

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
import type { WorkspacePathMode } from "./runner-options.js";

/** The part of a runner's options that concerns its workspace files. */
export type WorkspaceFilesOptions = {
  shadowDir: string;
  /** True if files may be read and directories listed. Default true. */
  read?: boolean | undefined;
  /** True if the workspace may be changed. Default true. */
  write?: boolean | undefined;
  /** Where commands see it, for paths that begin there. Default "/workspace". */
  workspacePath?: WorkspacePathMode | undefined;
};

/**
 * The contents of a workspace. For each entry six unsigned 64-bit numbers: st_mode, device, inode, size,
 * mtime and ctime in nanoseconds; the text has its path and, for a symbolic link, its target, each followed
 * by a NUL. The first entry is the workspace itself, ".".
 */
export type WorkspaceSurvey = { text: string; numbers: Uint8Array };

/**
 * The files of a workspace. All methods throw on misuse, and reject with errors like those of Node's file
 * system.
 */
export interface WorkspaceFilesHandle {
  read(path: WorkspacePath, options?: WorkspaceReadOptions): Promise<Uint8Array>;
  /** Copies `data`. */
  write(
    path: WorkspacePath,
    data: Uint8Array | string,
    options?: WorkspaceWriteOptions,
  ): Promise<WorkspaceStat>;
  list(path: WorkspacePath, options?: WorkspaceListOptions): Promise<WorkspaceEntry[]>;
  /** Rejects with EILSEQ, with `path`, if a path or a target is not valid UTF-8. */
  survey(options?: { maxEntries?: number }): Promise<WorkspaceSurvey>;
  stat(path: WorkspacePath): Promise<WorkspaceStat>;
  mkdir(path: WorkspacePath, options?: WorkspaceMkdirOptions): Promise<void>;
  rename(from: WorkspacePath, to: WorkspacePath): Promise<void>;
  remove(path: WorkspacePath, options?: WorkspaceRemoveOptions): Promise<void>;
}
