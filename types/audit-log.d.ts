/** What an audit log is told and has in it. No code lives here. */

import type { KeyObject } from "node:crypto";

import type { SandboxedAuditRecord } from "./public.js";
import type { TransactionAudit } from "./transaction.js";

/** How a log is written. */
export type AuditLogOptions = {
  /**
   * An Ed25519 private key, by which records are signed: a KeyObject, or PEM text. Default: none are.
   * Whoever can read it can write a log of his own; keep it where commands can't.
   */
  key?: KeyObject | string | undefined;
  /**
   * Records from one signature to the next, >= 1. Default 64. Signed as well is each record of the log itself:
   * open, close, file, gap and recovered.
   */
  signEvery?: number | undefined;
  /**
   * Bytes after which a file is put aside, as PATH.1, PATH.2 and so on, and another one is begun; >= 4096.
   * Default: it grows without end. Nothing is ever removed.
   */
  maxBytes?: number | undefined;
  /** Is told each time that records can't be written, or were lost. It must not throw. Default: a warning. */
  onError?: ((error: Error) => void) | undefined;
};

/** Something that was granted beyond a runner's policy, and by whom. */
export type AuditGrant = {
  /** The option that was widened, such as "mounts" or "network.allow". */
  option: string;
  /** What was added to it; anything that JSON has. */
  value: unknown;
  /** Who has agreed, in the host's words. */
  approvedBy?: string | undefined;
  /** For how long: "run", "session", or what else the host calls it. */
  scope?: string | undefined;
  /** The command that asked for it. */
  argv?: readonly string[] | undefined;
};

/** Of the record `open`. */
export type AuditOpen = {
  /** The process that writes from here on. */
  pid: number;
  /** The name of its machine. */
  host: string;
  /** Of this package. */
  version: string;
  /** See {@link AuditLogOptions.signEvery}. */
  signEvery: number;
  /** SHA-256 (hex) of the public key (SubjectPublicKeyInfo); null: nothing is signed. */
  publicKey: string | null;
};

/** Of the record `file`. */
export type AuditFileBegin = {
  /** The name of the file before, in the same directory. */
  previous: string;
  /** The hash of its last record. */
  head: string;
};

/** Of the record `recovered`. */
export type AuditRecovery = {
  /** How long the torn line was. */
  bytes: number;
  /** SHA-256 (hex) of all of it. */
  sha256: string;
  /** Its first 16 KiB, in base64. */
  text: string;
};

/** Of the record `gap`. */
export type AuditGap = {
  /** Records that are missing here. */
  lost: number;
  /** What kept them from being written. */
  reason: string;
};

/** Of the record `policy`. */
export type AuditPolicy = {
  /** As {@link SandboxedAuditRecord.runtime}. */
  runtime: string;
  /** As {@link SandboxedAuditRecord.policyHash}. */
  policyHash: string;
  /** The runner's last other one; null: this is its first. */
  previous: string | null;
};

/** Of the record `template`. */
export type AuditTemplate = {
  /** As {@link SandboxedAuditRecord.runtime}. */
  runtime: string;
  /** As {@link SandboxedAuditRecord.policyHash}. */
  policyHash: string;
  /** As {@link SandboxedAuditRecord.layers}. */
  layers: readonly string[];
};

/** Of the record `run`. */
export type AuditRun = SandboxedAuditRecord & {
  /** Of its result. */
  exitCode: number;
};

/** Of the record `session`. */
export type AuditSession = {
  /** As {@link SandboxedAuditRecord.policyHash}. */
  policyHash: string;
};

/** Of the record `close`. */
export type AuditClose = {
  /** Records that the process has lost while it had the log open. */
  lost: number;
};

/** What the events of each kind of record are. */
export type AuditEvents = {
  /** A process has opened the log. */
  open: AuditOpen;
  /** It has closed it. */
  close: AuditClose;
  /** A file begins where another one ended. */
  file: AuditFileBegin;
  /** The last line of a process that died in mid-write was cut off. */
  recovered: AuditRecovery;
  /** Records could not be written. */
  gap: AuditGap;
  /** One run. */
  run: AuditRun;
  /** What was done with a transaction. */
  transaction: TransactionAudit;
  /** Something was granted. */
  grant: AuditGrant;
  /** A session was opened. */
  session: AuditSession;
  /** The first run in a clone of a template of this policy. */
  template: AuditTemplate;
  /** A runner's first run, or its first under another policy. */
  policy: AuditPolicy;
};

/** The kinds of records. */
export type AuditKind = keyof AuditEvents;

/** One line of a log, as `JSON.parse` gives it. */
export type AuditEntry<Kind extends AuditKind = AuditKind> = {
  [Each in Kind]: {
    /** The format. */
    v: 1;
    /** Its number, from 0 on, across files. */
    seq: number;
    /** The hash of the record before; 64 zeros of the first. */
    prev: string;
    /** When it was made, in ISO 8601 by the host's clock, which may be put back. */
    at: string;
    /** What it tells of. */
    kind: Each;
    /** What there is to tell; see {@link AuditEvents}. */
    event: AuditEvents[Each];
    /** SHA-256, in hexadecimal digits, of "native-runner/audit/1\n" and the line's bytes up to its own field, with a closing brace. */
    hash: string;
    /** Ed25519, in base64, over "native-runner/audit/1/signature\n" and `hash`. */
    sig?: string;
  };
}[Kind];

/** A log as runners know it: an `AuditLog` of this package, and nothing else. */
export interface AuditLogTarget {
  /** The file, as it was given. */
  readonly path: string;
  /** The hash of the last record that is in the file. */
  readonly head: string;
  /** Records that were lost so far. */
  readonly lost: number;
  /** Records what a person or the host has granted. @throws TypeError for anything else. */
  grant(grant: AuditGrant): void;
  /** Resolves when all that was recorded until now is in the file. @throws (rejects) where it can't be written. */
  flush(): Promise<void>;
  /** Writes what is left and a last record, and lets go of the file. @throws (rejects) as `flush`. */
  close(): Promise<void>;
}

/** How `verifyAuditLog` looks at a log. */
export type VerifyOptions = {
  /** A `head` that was kept elsewhere: it has to be the hash of one of the records. Default: not asked. */
  expectHead?: string | undefined;
  /** The public half of the key, as a KeyObject or PEM text. Default: signatures are not looked at. */
  publicKey?: KeyObject | string | undefined;
};

/** What is not as it was written. */
export type AuditProblem = {
  /**
   * "changed": the line's bytes do not give its hash. "damaged": it is no record. "inserted": no writer wrote it
   * there. "deleted": records are missing before it. "moved": it stood elsewhere. "rewritten": the line before it
   * is not the record that it was chained to. "torn": the end of the last line is missing. "missing-file": a
   * file that was put aside is not there. "signature": it is not by this key. "unsigned": a signature is
   * missing where one was due. "truncated": the expected head is not there.
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
  /** Where it shows. */
  file: string;
  /** Of the file, from 1 on. */
  line: number;
  /** As a sentence without its full stop. */
  message: string;
};

/** What `verifyAuditLog` found. */
export type AuditVerification = {
  /** Nothing is amiss; see `problems`. */
  ok: boolean;
  /** Those that were read, the oldest first. */
  files: string[];
  /** Lines that are records. */
  records: number;
  /** The hash of the last record; null where there is none. */
  head: string | null;
  /** How many records come after the expected head; null where none was expected, or it is not there. */
  afterExpectedHead: number | null;
  /** Records with a signature that is by the key; null: none was given. */
  signed: number | null;
  /** Records behind the last such signature, which it says nothing of; null: no key was given. */
  unsignedAtEnd: number | null;
  /** Records that the writer could not write, as it told itself. */
  lost: number;
  /** Torn lines that were cut off when the log was opened again. */
  recovered: number;
  /** The first 100. */
  problems: AuditProblem[];
  /** Further ones. */
  problemsOmitted: number;
};
