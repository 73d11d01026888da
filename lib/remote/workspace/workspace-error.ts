/** What can go wrong while a workspace is moved, besides conflicts, which are a TransactionError. */

/** Why; see {@link WorkspaceError}. */
export type WorkspaceErrorCode =
  | "ERR_WORKSPACE_CHANGING"
  | "ERR_WORKSPACE_CUT"
  | "ERR_WORKSPACE_LIMIT"
  | "ERR_WORKSPACE_LOCKED"
  | "ERR_WORKSPACE_MESSAGE"
  | "ERR_WORKSPACE_UNSUPPORTED";

/**
 * A workspace can't be moved; nothing of it is half done on either side.
 *
 * ERR_WORKSPACE_CHANGING: a file changes all the time that it is read. ERR_WORKSPACE_CUT: the other side
 * is gone, or has given up. ERR_WORKSPACE_LIMIT: it has more entries or bytes than is allowed, or than
 * there is room for. ERR_WORKSPACE_LOCKED: another process has the cache. ERR_WORKSPACE_MESSAGE: what
 * the other side has sent is not what it may send. ERR_WORKSPACE_UNSUPPORTED: an entry can't be moved.
 */
export class WorkspaceError extends Error {
  /** Why, for programs. */
  readonly code: WorkspaceErrorCode;

  constructor(message: string, code: WorkspaceErrorCode, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.name = "WorkspaceError";
    this.code = code;
  }
}

/** Of what has come from the other side. */
export function badMessage(what: string): WorkspaceError {
  return new WorkspaceError(`the other side has sent ${what}`, "ERR_WORKSPACE_MESSAGE");
}
