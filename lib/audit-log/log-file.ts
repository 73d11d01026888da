/** The file of a log: who may write it, what is in it, and the file that comes after it. */

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

/** How long an exit waits for bytes that are being written on another thread. */
const kMostWaitMs = 1000;

/** What comes before a file that has no record yet. */
export type Before = { name: string; last: Link };

function namingFile<Value>(path: string, work: () => Value): Value {
  try {
    return work();
  } catch (error) {
    if (!(error instanceof AuditLogError)) throw error;
    throw new AuditLogError(`the audit log ${path} can't go on: ${error.message}`, error.code);
  }
}

/** The last record of the file that was put aside last; undefined: there is none. */
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

/** One that is open, for this process alone. */
export class LogFile {
  readonly path: string;
  readonly #lock: number;
  #descriptor: number;
  #size: number;
  /** What it had in it when it was opened. */
  readonly tail: Tail;
  /** The file before it, where it had no record: a process has died while it put that aside. */
  readonly before: Before | undefined;

  /** Opens it, or makes it, and cuts off a torn line. @throws AuditLogError */
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

  /** Throws where the path leads to another file by now: what is written would be nobody's. */
  #expectSame(): void {
    const there = statSync(this.path, { throwIfNoEntry: false });
    const own = fstatSync(this.#descriptor);
    if (there?.ino === own.ino && there.dev === own.dev) return;
    const what = there === undefined ? "was removed" : "was replaced by another file";
    throw new AuditLogError(`the audit log ${this.path} ${what}`, "ERR_AUDIT_LOG_UNWRITABLE");
  }

  /** All of it, or nothing: what was written of it in part is cut off again. */
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
   * The same at once, for who is about to exit. `pending` bytes are being written on another thread, which
   * goes on meanwhile: where they don't get there, neither does this.
   */
  appendNow(bytes: Buffer, pending: number): boolean {
    const until = performance.now() + kMostWaitMs;
    const isThere = () => fstatSync(this.#descriptor).size === this.#size + pending;
    while (!isThere() && performance.now() < until);
    if (!isThere()) return false;
    for (let done = 0; done < bytes.length; ) done += writeSync(this.#descriptor, bytes, done);
    return true;
  }

  /** Puts it aside and begins another; the name that it has from now on. */
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
      renameSync(place, this.path); // so that it goes on as it was
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
