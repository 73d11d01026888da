/** Why there is no audit log, or none can be written. */
export type AuditLogErrorCode =
  /** Another process, or another `AuditLog`, writes it. */
  | "ERR_AUDIT_LOG_LOCKED"
  /** What is in the file is no log, or its end is not as it was written. */
  | "ERR_AUDIT_LOG_DAMAGED"
  /** The file can't be opened or written. */
  | "ERR_AUDIT_LOG_UNWRITABLE"
  /** There is none, where one is to be read. */
  | "ERR_AUDIT_LOG_MISSING"
  /** It was closed. */
  | "ERR_AUDIT_LOG_CLOSED";

/** An audit log that can't be had; `code` is stable. */
export class AuditLogError extends Error {
  /** Why, for programs; see {@link AuditLogErrorCode}. */
  readonly code: AuditLogErrorCode;

  constructor(message: string, code: AuditLogErrorCode, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.name = "AuditLogError";
    this.code = code;
  }
}
