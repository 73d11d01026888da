/** The public types of audit logs: options, records and verification. This file holds no code. */

import type { KeyObject } from "node:crypto";

import type { SandboxedAuditRecord } from "./public.js";
import type { TransactionAudit } from "./transaction.js";

/** Options of an audit log. */
export type AuditLogOptions = {
  /**
   * An Ed25519 private key that signs records: a KeyObject, or PEM text. Default: records are not signed.
   * Anyone who can read the key can forge a log; keep it where commands can't read it.
   */
  key?: KeyObject | string | undefined;
  /**
   * Number of records from one signature to the next, >= 1. Default 64. Records about the log itself are
   * always signed: open, close, file, gap and recovered.
   */
  signEvery?: number | undefined;
  /**
   * Size in bytes at which a file is rotated: it is renamed to PATH.1, PATH.2 and so on, and a new file is
   * begun; >= 4096. Default: the file grows without limit. Nothing is ever removed.
   */
  maxBytes?: number | undefined;
  /** Called each time records can't be written, or were lost. Must not throw. Default: a warning. */
  onError?: ((error: Error) => void) | undefined;
};

/** A grant beyond a runner's policy, and who approved it. */
export type AuditGrant = {
  /** The option that was extended, such as "mounts" or "network.allow". */
  option: string;
  /** The value added to it; any JSON value. */
  value: unknown;
  /** Who approved it, in the host's words. */
  approvedBy?: string | undefined;
  /** Scope of the grant: "run", "session", or the host's own term. */
  scope?: string | undefined;
  /** The command that asked for it. */
  argv?: readonly string[] | undefined;
};

/** Event of the record `open`. */
export type AuditOpen = {
  /** The process that writes the records from here on. */
  pid: number;
  /** Host name of its machine. */
  host: string;
  /** Version of this package. */
  version: string;
  /** See {@link AuditLogOptions.signEvery}. */
  signEvery: number;
  /** SHA-256 (hex) of the public key (SubjectPublicKeyInfo); null: records are not signed. */
  publicKey: string | null;
};

/** Event of the record `file`. */
export type AuditFileBegin = {
  /** Name of the previous file, in the same directory. */
  previous: string;
  /** The hash of its last record. */
  head: string;
};

/** Event of the record `recovered`. */
export type AuditRecovery = {
  /** Length of the torn line in bytes. */
  bytes: number;
  /** SHA-256 (hex) of the whole torn line. */
  sha256: string;
  /** Its first 16 KiB, in base64. */
  text: string;
};

/** Event of the record `gap`. */
export type AuditGap = {
  /** Number of records missing here. */
  lost: number;
  /** Why they could not be written. */
  reason: string;
};

/** Event of the record `policy`. */
export type AuditPolicy = {
  /** See {@link SandboxedAuditRecord.runtime}. */
  runtime: string;
  /** See {@link SandboxedAuditRecord.policyHash}. */
  policyHash: string;
  /** The runner's previous policy hash; null for its first. */
  previous: string | null;
};

/** Event of the record `template`. */
export type AuditTemplate = {
  /** See {@link SandboxedAuditRecord.runtime}. */
  runtime: string;
  /** See {@link SandboxedAuditRecord.policyHash}. */
  policyHash: string;
  /** See {@link SandboxedAuditRecord.layers}. */
  layers: readonly string[];
};

/** Event of the record `run`. */
export type AuditRun = SandboxedAuditRecord & {
  /** The exit code of the result. */
  exitCode: number;
};

/** Event of the record `session`. */
export type AuditSession = {
  /** See {@link SandboxedAuditRecord.policyHash}. */
  policyHash: string;
};

/** Event of the record `close`. */
export type AuditClose = {
  /** Number of records that the process lost while it had the log open. */
  lost: number;
};

/** The event type of each kind of record. */
export type AuditEvents = {
  /** A process opened the log. */
  open: AuditOpen;
  /** The process closed the log. */
  close: AuditClose;
  /** A new file begins after rotation. */
  file: AuditFileBegin;
  /** The last line was cut off: its process died while writing it. */
  recovered: AuditRecovery;
  /** Records could not be written. */
  gap: AuditGap;
  /** One run. */
  run: AuditRun;
  /** An action on a transaction. */
  transaction: TransactionAudit;
  /** A grant was given. */
  grant: AuditGrant;
  /** A session was opened. */
  session: AuditSession;
  /** The first run in a clone of a template with this policy. */
  template: AuditTemplate;
  /** A runner's first run, or its first under a different policy. */
  policy: AuditPolicy;
};

/** The kinds of records. */
export type AuditKind = keyof AuditEvents;

/** One line of a log, as `JSON.parse` gives it. */
export type AuditEntry<Kind extends AuditKind = AuditKind> = {
  [Each in Kind]: {
    /** Version of the format. */
    v: 1;
    /** Number of the record, counted from 0 across files. */
    seq: number;
    /** The hash of the previous record; 64 zeros for the first record. */
    prev: string;
    /** When the record was created, in ISO 8601 by the host's clock, which may be set back. */
    at: string;
    /** The kind of the record. */
    kind: Each;
    /** The event of the record; see {@link AuditEvents}. */
    event: AuditEvents[Each];
    /**
     * SHA-256, in hexadecimal digits, of "native-runner/audit/1\n" and the line's bytes before this field,
     * with a closing brace.
     */
    hash: string;
    /** Ed25519, in base64, over "native-runner/audit/1/signature\n" and `hash`. */
    sig?: string;
  };
}[Kind];

/** A log as runners use it: must be an `AuditLog` of this package. */
export interface AuditLogTarget {
  /** Path of the file, as given. */
  readonly path: string;
  /** The hash of the last record in the file. */
  readonly head: string;
  /** Number of records lost so far. */
  readonly lost: number;
  /** Records a grant of a person or of the host. @throws TypeError for any other value. */
  grant(grant: AuditGrant): void;
  /** Resolves when everything recorded so far is in the file. @throws (rejects) if it can't be written. */
  flush(): Promise<void>;
  /** Writes the remaining records and a final one, and closes the file. @throws (rejects) like `flush`. */
  close(): Promise<void>;
}

/** Options of `verifyAuditLog`. */
export type VerifyOptions = {
  /** A `head` that was stored elsewhere: must be the hash of one of the records. Default: not checked. */
  expectHead?: string | undefined;
  /** The public key, as a KeyObject or PEM text. Default: signatures are not checked. */
  publicKey?: KeyObject | string | undefined;
};

/** A deviation from the log as it was written. */
export type AuditProblem = {
  /**
   * "changed": the line's bytes do not match its hash. "damaged": the line is not a record. "inserted": no
   * writer wrote the record there. "deleted": records are missing before it. "moved": the record was
   * elsewhere. "rewritten": the previous line is not the record that this one was chained to. "torn": the end
   * of the last line is missing. "missing-file": a rotated file is missing. "signature": the signature is not
   * from this key. "unsigned": a required signature is missing. "truncated": the expected head is missing.
   */
  kind:
    | "changed"
    | "damaged"
    | "inserted"
    | "deleted"
    | "moved"
    | "rewritten"
    | "torn"
    | "missing-file"
    | "signature"
    | "unsigned"
    | "truncated";
  /** The file with the problem. */
  file: string;
  /** Line number in the file, from 1 on. */
  line: number;
  /** A sentence without a final period. */
  message: string;
};

/** The result of `verifyAuditLog`. */
export type AuditVerification = {
  /** True if no problem was found; see `problems`. */
  ok: boolean;
  /** The files that were read, oldest first. */
  files: string[];
  /** Number of lines that are records. */
  records: number;
  /** The hash of the last record; null if there is no record. */
  head: string | null;
  /** Number of records after the expected head; null if none was expected, or it was not found. */
  afterExpectedHead: number | null;
  /** Number of records with a signature from the key; null if no key was given. */
  signed: number | null;
  /** Number of records after the last such signature, which it does not cover; null if no key was given. */
  unsignedAtEnd: number | null;
  /** Number of records that the writer reported as lost. */
  lost: number;
  /** Number of torn lines that were cut off when the log was reopened. */
  recovered: number;
  /** The first 100 problems. */
  problems: AuditProblem[];
  /** Number of further problems. */
  problemsOmitted: number;
};
