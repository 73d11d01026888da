import type { KeyObject } from "node:crypto";
import { hostname } from "node:os";
import { resolve } from "node:path";

import type {
  AuditEvents,
  AuditGrant,
  AuditKind,
  AuditLogOptions,
  AuditLogTarget,
} from "../../types/audit-log.js";
import { invalidType, invalidValue } from "../errors.js";
import { expectFields, type FieldsOf } from "../fields.js";
import { packageVersion } from "../package-version.js";
import { fingerprintOf, privateKeyOf } from "./chain.js";
import { AuditLogError } from "./files.js";
import { LogFile } from "./log-file.js";
import { RecordWriter } from "./record-writer.js";
import { registerLog } from "./sink.js";

const kGrant: FieldsOf<AuditGrant> = {
  option: true,
  value: true,
  approvedBy: true,
  scope: true,
  argv: true,
};

/** After the first lost record, one report follows per this many. */
const kReportEach = 10_000;

/** Writers that are open in this environment; their queues are written before it exits. */
const open = new Set<RecordWriter>();
const writeAllNow = () => {
  for (const writer of open) writer.writeNow();
};

function checkedPath(path: unknown): string {
  if (typeof path !== "string" || path === "") throw invalidType("path", "a path", path);
  if (path.includes("\0")) throw invalidValue("Expected `path` to be without NUL bytes");
  return path;
}

/**
 * Returns the JSON of a grant.
 * @throws TypeError that names the field
 */
function checkedGrant(grant: AuditGrant): string {
  expectFields(grant, "grant", kGrant);
  const { option, value, approvedBy, scope, argv } = grant;
  if (typeof option !== "string") throw invalidType("grant.option", "a string", option);
  for (const [field, text] of Object.entries({ approvedBy, scope })) {
    if (text !== undefined && typeof text !== "string") {
      throw invalidType(`grant.${field}`, "a string", text);
    }
  }
  if (argv !== undefined && !argv.every((word) => typeof word === "string")) {
    throw invalidType("grant.argv", "strings", argv);
  }
  try {
    if (JSON.stringify(value) !== undefined) return JSON.stringify(grant);
  } catch (cause) {
    throw invalidValue("Expected `grant.value` to be something that JSON has", cause);
  }
  throw invalidType("grant.value", "something that JSON has", value);
}

/**
 * A tamper-evident record of all runs: one line of JSON per record, each chained to the one before by a hash of its
 * bytes. Pass it as `auditLog` to any number of runners and runtimes.
 *
 * Recording never waits for the disk and never throws: records are written in the background, in order. While they
 * can't be written, up to 100 000 records or 64 MiB wait; further ones are lost and counted, and the log itself reports
 * the loss once it can be written again. Written records are in the kernel's cache; they are synced to the disk when a
 * file is rotated, and by `close`.
 *
 * A chain alone proves nothing against a user who can replace the whole file, nor that its end was not cut off: see
 * `docs/observability/audit-log.md`.
 *
 * @example
 * const auditLog = new AuditLog("/var/log/agent/audit.jsonl");
 * const runner = new BubblewrapNativeRunner({ shadowDir: "/srv/work/42", auditLog });
 */
export class AuditLog implements AuditLogTarget {
  /** The path as given. */
  readonly path: string;
  readonly #onError: (error: Error) => void;
  readonly #writer: RecordWriter;
  #lost = 0;
  #closed: Promise<void> | undefined;

  /**
   * Opens the file, or creates it with mode 0600, and locks it (`PATH.lock`). Continues an existing log.
   *
   * @throws TypeError or RangeError on a wrong option; {@link AuditLogError}: ERR_AUDIT_LOG_LOCKED if another process
   * or log writes it, ERR_AUDIT_LOG_DAMAGED if its last line is no record, ERR_AUDIT_LOG_UNWRITABLE; {@link
   * SandboxError} if the native addon is missing
   */
  constructor(path: string, options: AuditLogOptions = {}) {
    this.path = checkedPath(path);
    const checked = checkedOptions(options);
    const { key, signEvery, onError } = checked;
    this.#onError = onError;
    const file = new LogFile(resolve(path));
    this.#writer = new RecordWriter(file, checked);
    if (open.size === 0) process.on("exit", writeAllNow);
    open.add(this.#writer);
    registerLog(this, { add: (kind, event) => this.#add(kind, event) });
    const { torn } = file.tail;
    if (torn !== undefined) this.#add("recovered", torn);
    this.#add("open", {
      pid: process.pid,
      host: hostname(),
      version: packageVersion(),
      signEvery,
      publicKey: key === undefined ? null : fingerprintOf(key),
    });
  }

  /** The hash of the last record in the file; 64 zeros if it has none. */
  get head(): string {
    return this.#writer.head;
  }

  /** Number of records lost since the log was opened. */
  get lost(): number {
    return this.#lost;
  }

  /**
   * Records a grant of a person or the host.
   * @throws TypeError that names a wrong field; {@link AuditLogError} ERR_AUDIT_LOG_CLOSED after `close`
   */
  grant(grant: AuditGrant): void {
    if (this.#closed !== undefined) {
      throw new AuditLogError(`the audit log ${this.path} was closed`, "ERR_AUDIT_LOG_CLOSED");
    }
    this.#addText("grant", checkedGrant(grant));
  }

  /**
   * Resolves when all records added so far are in the file.
   * @throws (rejects) {@link AuditLogError} ERR_AUDIT_LOG_UNWRITABLE if it can't be written; the records stay queued
   */
  async flush(): Promise<void> {
    await this.#writer.flush();
  }

  /**
   * Writes queued records and a final one, syncs the file to the disk, and closes it.
   * @throws (rejects) as {@link flush}; the file is closed even then
   */
  close(): Promise<void> {
    this.#closed ??= this.#close();
    return this.#closed;
  }

  /** `await using`: {@link close}. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  async #close(): Promise<void> {
    const event: AuditEvents["close"] = { lost: this.#lost };
    this.#addText("close", JSON.stringify(event));
    try {
      await this.#writer.close();
    } finally {
      open.delete(this.#writer);
      if (open.size === 0) process.off("exit", writeAllNow);
    }
  }

  #add<Kind extends AuditKind>(kind: Kind, event: AuditEvents[Kind]): void {
    if (this.#closed === undefined) this.#addText(kind, JSON.stringify(event));
    else this.#lose("it was closed");
  }

  #addText(kind: AuditKind, event: string): void {
    if (!this.#writer.add(kind, event)) this.#lose("more came than could be written");
  }

  #lose(reason: string): void {
    this.#lost += 1;
    if (this.#lost % kReportEach !== 1) return;
    const records = this.#lost === 1 ? "a record" : `${this.#lost} records`;
    const message = `the audit log ${this.path} has lost ${records}: ${reason}`;
    this.#onError(new AuditLogError(message, "ERR_AUDIT_LOG_UNWRITABLE"));
  }
}

/** The options of a log, checked. */

const kOptions: FieldsOf<AuditLogOptions> = {
  key: true,
  signEvery: true,
  maxBytes: true,
  onError: true,
};

const kSignEvery = 64;
const kLeastMaxBytes = 4096;

/** Checked options. */
export type CheckedOptions = {
  key: KeyObject | undefined;
  signEvery: number;
  /** `Infinity` by default. */
  maxBytes: number;
  onError: (error: Error) => void;
};

function integer(value: unknown, field: string, least: number, absent: number): number {
  if (value === undefined) return absent;
  if (typeof value !== "number") throw invalidType(field, `an integer from ${least} on`, value);
  if (Number.isSafeInteger(value) && value >= least) return value;
  throw invalidValue(`Expected \`${field}\` to be an integer from ${least} on, got ${value}`);
}

const warn = (error: Error) => process.emitWarning(error.message, "AuditLogWarning");

/** Returns a callback that never throws: errors of the caller's function are raised in a microtask. */
function callback(value: unknown): (error: Error) => void {
  if (value === undefined) return warn;
  if (typeof value !== "function") throw invalidType("onError", "a function", value);
  return (error) => {
    try {
      value(error);
    } catch (thrown) {
      queueMicrotask(() => {
        throw thrown;
      });
    }
  };
}

/** @throws TypeError or RangeError that names the option */
function checkedOptions(options: AuditLogOptions): CheckedOptions {
  expectFields(options, "options", kOptions);
  const { key, signEvery, maxBytes, onError } = options;
  return {
    key: key === undefined ? undefined : privateKeyOf(key),
    signEvery: integer(signEvery, "signEvery", 1, kSignEvery),
    maxBytes: integer(maxBytes, "maxBytes", kLeastMaxBytes, Number.POSITIVE_INFINITY),
    onError: callback(onError),
  };
}
