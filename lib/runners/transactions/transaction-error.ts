import type { Change } from "../../../types/transaction.js";

/**
 * Why a transaction can't be committed, a commit not be undone, or no checkpoint be made; the host's
 * files are as before.
 */
export class TransactionError extends Error {
  /**
   * ERR_TRANSACTION_CONFLICT: the host has changed the same files. ERR_TRANSACTION_PROTECTED: code of the
   * host's runs by itself what would be changed. ERR_TRANSACTION_UNEXPECTED: it is not what was expected.
   * ERR_TRANSACTION_BUSY: a command runs in it.
   */
  readonly code:
    | "ERR_TRANSACTION_CONFLICT"
    | "ERR_TRANSACTION_PROTECTED"
    | "ERR_TRANSACTION_UNEXPECTED"
    | "ERR_TRANSACTION_BUSY";
  /** The paths because of which, relative to the workspace. */
  readonly paths: readonly string[];
  /** The changes at these paths; none of an undo. */
  readonly conflicts: readonly Change[];

  constructor(
    message: string,
    code: TransactionError["code"],
    paths: readonly string[],
    conflicts: readonly Change[] = [],
  ) {
    super(message);
    this.name = "TransactionError";
    this.code = code;
    this.paths = paths;
    this.conflicts = conflicts;
  }
}
