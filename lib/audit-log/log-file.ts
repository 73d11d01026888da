/** The file of a log, with its lock, its tail and its rotation. */

import {
  closeSync,
  constants,
  fdatasync,
  fstatSync,
  ftruncateSync,
  openSync,
  renameSync,
  statSync,
  write,
  writeSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { promisify } from "node:util";

import type { Link } from "./chain.js";
import {
  AuditLogError,
  lastRotated,
  lockLog,
  messageOf,
  nextRotated,
  openLogFile,
} from "./files.js";
import { readTail, recoverTail, type Tail } from "./tail.js";

const writeTo = promisify(write);
const syncData = promisify(fdatasync);

/** Milliseconds that an exiting process waits for bytes that another thread is writing. */
const kMostWaitMs = 1000;

/** The file before one that has no record yet, with its last record. */
export type Before = { name: string; last: Link };

function namingFile<Value>(path: string, work: () => Value): Value {
  try {
    return work();
  } catch (error) {
    if (!(error instanceof AuditLogError)) throw error;
    throw new AuditLogError(`the audit log ${path} can't go on: ${error.message}`, error.code);
  }
}

/** Returns the newest rotated file with its last record; undefined if none exists. */
function findBefore(path: string): Before | undefined {
  const name = lastRotated(path);
  if (name === undefined) return undefined;
  const place = join(dirname(path), name);
  const descriptor = openSync(place, constants.O_RDONLY | constants.O_NOFOLLOW);
  try {
    const { last } = namingFile(place, () => readTail(descriptor));
    return last && { name, last };
  } finally {
    closeSync(descriptor);
  }
}

/** An open log file, locked by this process. */
export class LogFile {
  readonly path: string;
  readonly #lock: number;
  #descriptor: number;
  #size: number;
  /** The tail of the file when it was opened. */
  readonly tail: Tail;
  /** The file before an empty one: a process died during its rotation. */
  readonly before: Before | undefined;

  /**
   * Opens or creates the file, and cuts off a torn line.
   * @throws AuditLogError
   */
  constructor(path: string) {
    this.path = path;
    this.#lock = lockLog(path);
    try {
      this.#descriptor = openLogFile(path);
      try {
        this.tail = namingFile(path, () => recoverTail(this.#descriptor));
        this.before = this.tail.last === undefined ? findBefore(path) : undefined;
      } catch (error) {
        closeSync(this.#descriptor);
        throw error;
      }
    } catch (error) {
      closeSync(this.#lock);
      throw error;
    }
    this.#size = this.tail.size;
  }

  get size(): number {
    return this.#size;
  }

  /** @throws AuditLogError if the path names another file by now, so that writing would be lost */
  #expectSame(): void {
    const there = statSync(this.path, { throwIfNoEntry: false });
    const own = fstatSync(this.#descriptor);
    if (there?.ino === own.ino && there.dev === own.dev) return;
    const what = there === undefined ? "was removed" : "was replaced by another file";
    throw new AuditLogError(`the audit log ${this.path} ${what}`, "ERR_AUDIT_LOG_UNWRITABLE");
  }

  /** Appends all bytes or none: a partial write is cut off again. */
  async append(bytes: Buffer): Promise<void> {
    this.#expectSame();
    try {
      for (let done = 0; done < bytes.length; ) {
        const left = bytes.length - done;
        done += (await writeTo(this.#descriptor, bytes, done, left, null)).bytesWritten;
      }
      this.#size += bytes.length;
    } catch (cause) {
      ftruncateSync(this.#descriptor, this.#size);
      const message = `the audit log ${this.path} can't be written: ${messageOf(cause)}`;
      throw new AuditLogError(message, "ERR_AUDIT_LOG_UNWRITABLE", cause);
    }
  }

  /**
   * Appends synchronously, for a process that is about to exit. Waits until another thread has written `pending` bytes;
   * returns false, without writing, if it does not finish in time.
   */
  appendNow(bytes: Buffer, pending: number): boolean {
    const until = performance.now() + kMostWaitMs;
    const isThere = () => fstatSync(this.#descriptor).size === this.#size + pending;
    while (!isThere() && performance.now() < until);
    if (!isThere()) return false;
    for (let done = 0; done < bytes.length; ) done += writeSync(this.#descriptor, bytes, done);
    return true;
  }

  /** Rotates the file: renames it and begins a new one. Returns the new name of the old file. */
  async rotate(): Promise<string> {
    this.#expectSame();
    await syncData(this.#descriptor);
    const name = nextRotated(this.path);
    const place = join(dirname(this.path), name);
    renameSync(this.path, place);
    let next: number;
    try {
      next = openLogFile(this.path, constants.O_EXCL);
    } catch (error) {
      renameSync(place, this.path); // keep using the old file
      throw error;
    }
    closeSync(this.#descriptor);
    this.#descriptor = next;
    this.#size = 0;
    return name;
  }

  async close(): Promise<void> {
    try {
      await syncData(this.#descriptor);
    } finally {
      closeSync(this.#descriptor);
      closeSync(this.#lock);
    }
  }
}
