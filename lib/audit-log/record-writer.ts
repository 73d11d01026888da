/** Writes records in the background: in order, in batches, one after the other. */

import type { KeyObject } from "node:crypto";

import type { AuditEvents, AuditKind } from "../../types/audit-log.js";
import { isSignatureDue, kGenesis, seal } from "./chain.js";
import type { LogFile } from "./log-file.js";

const kMostAtOnce = 64; // records: the thread that seals them is the host's own
const kMostBatchBytes = 256 * 1024;
const kEnvelopeBytes = 400; // of a record besides its event, signed
const kRetryMs = [100, 500, 2000, 5000];

/** How records are written; see `AuditLogOptions`. */
export type WriterOptions = {
  key: KeyObject | undefined;
  signEvery: number;
  /** `Infinity`: one file. */
  maxBytes: number;
  /** Is told of the first failure of a row, and of records that were lost. It must not throw. */
  onError: (error: Error) => void;
};

type Waiter = { upTo: number; resolve: () => void; reject: (error: unknown) => void };

/** Where the chain is. */
type Place = { seq: number; head: string };

/** One for each open log, which it belongs to. */
export class RecordWriter {
  readonly #file: LogFile;
  readonly #options: WriterOptions;
  readonly #queue = new RecordQueue();
  #place: Place = { seq: 0, head: kGenesis };
  /** Of the file, which has no record yet; written before all others. */
  #begins: AuditEvents["file"] | undefined;
  /** Why records could not be written, since the last gap. */
  #reason = "";
  #added = 0;
  #done = 0;
  #waiters: Waiter[] = [];
  /** Of the batch that is being written. */
  #pending = { bytes: 0, records: 0 };
  #draining: Promise<void> | undefined;
  #failures = 0;

  /** @param file open, with a tail that the chain goes on from. */
  constructor(file: LogFile, options: WriterOptions) {
    this.#file = file;
    this.#options = options;
    const { tail, before } = file;
    const last = tail.last ?? before?.last;
    if (last !== undefined) this.#place = { seq: last.seq + 1, head: last.hash };
    if (before !== undefined) this.#begins = { previous: before.name, head: before.last.hash };
  }

  /** The hash of the last record that is written. */
  get head(): string {
    return this.#place.head;
  }

  /** False: too many wait, and it was dropped. A `gap` will tell of it. */
  add(kind: AuditKind, event: string): boolean {
    if (!this.#queue.add({ kind, at: new Date().toISOString(), event })) {
      this.#reason ||= "more records came than could be written";
      return false;
    }
    this.#added += 1;
    if (this.#draining === undefined && this.#failures === 0) void this.#drain();
    return true;
  }

  /** Resolves when all that was added is written; rejects when the next try fails. */
  async flush(): Promise<void> {
    if (this.#done >= this.#added) return;
    await new Promise<void>((resolve, reject) => {
      this.#waiters.push({ upTo: this.#added, resolve, reject });
      void this.#drain();
    });
  }

  /** As `flush`, and then ends; the file is closed whatever becomes of it. */
  async close(): Promise<void> {
    try {
      await this.flush();
    } finally {
      await this.#draining;
      await this.#file.close();
    }
  }

  #drain(): Promise<void> {
    this.#draining ??= this.#writeAll().finally(() => {
      this.#draining = undefined;
      if (this.#failures > 0) this.#retryLater();
      else if (this.#queue.length > 0) void this.#drain();
    });
    return this.#draining;
  }

  #retryLater(): void {
    const ms = kRetryMs[Math.min(this.#failures, kRetryMs.length) - 1];
    setTimeout(() => void this.#drain(), ms).unref(); // a host that is done need not wait for a disk
  }

  async #writeAll(): Promise<void> {
    await new Promise((resolve) => setImmediate(resolve)); // what comes at once is written at once
    try {
      while (this.#queue.length > 0) {
        await this.#writeSome();
        this.#failures = 0;
      }
    } catch (error) {
      this.#failed(error instanceof Error ? error : new Error(String(error)));
    }
  }

  #failed(error: Error): void {
    this.#reason = error.message;
    if (this.#failures === 0) this.#options.onError(error);
    this.#failures += 1;
    for (const { reject } of this.#waiters.splice(0)) reject(error);
  }

  async #writeSome(): Promise<void> {
    const [first] = this.#queue.first(1);
    if (first !== undefined && this.#isFull(first)) {
      this.#begins = { previous: await this.#file.rotate(), head: this.#place.head };
    }
    const records = this.#nextBatch();
    const { bytes, place } = this.#seal(records, this.#place, this.#begins);
    this.#pending = { bytes: bytes.length, records: records.length };
    try {
      await this.#file.append(bytes);
    } finally {
      this.#pending = { bytes: 0, records: 0 };
    }
    this.#place = place;
    this.#begins = undefined;
    this.#written(records.length);
  }

  #isFull(first: Waiting): boolean {
    const { size } = this.#file;
    return size > 0 && size + sizeOf(first) > this.#options.maxBytes;
  }

  /** As many as fit, at least one. */
  #nextBatch(): readonly Waiting[] {
    const most = Math.min(kMostBatchBytes, this.#options.maxBytes - this.#file.size);
    const records = this.#queue.first(kMostAtOnce);
    let bytes = this.#begins === undefined ? 0 : kEnvelopeBytes;
    const over = records.findIndex((record) => {
      bytes += sizeOf(record);
      return bytes > most;
    });
    return over < 0 ? records : records.slice(0, Math.max(1, over));
  }

  #written(count: number): void {
    this.#queue.remove(count);
    this.#done += count;
    const isReady = ({ upTo }: Waiter) => upTo <= this.#done;
    const ready = this.#waiters.filter(isReady);
    this.#waiters = this.#waiters.filter((waiter) => !isReady(waiter));
    for (const { resolve } of ready) resolve();
    if (this.#queue.length > 0 || this.#queue.dropped === 0) return;
    const gap: AuditEvents["gap"] = { lost: this.#queue.takeDropped(), reason: this.#reason };
    this.#reason = "";
    this.add("gap", JSON.stringify(gap));
  }

  /** The lines of the records, and where the chain is behind them. */
  #seal(records: readonly Waiting[], from: Place, begins?: AuditEvents["file"]) {
    const place = { ...from };
    const lines: string[] = [];
    const add = ({ kind, at, event }: Waiting) => {
      const { key, signEvery } = this.#options;
      const isSigned = isSignatureDue(kind, place.seq, signEvery);
      const record = { seq: place.seq, prev: place.head, at, kind, event };
      const { line, hash } = seal(record, isSigned ? key : undefined);
      lines.push(line, "\n");
      place.head = hash;
      place.seq += 1;
    };
    const [first] = records;
    if (begins !== undefined && first !== undefined) {
      add({ kind: "file", at: first.at, event: JSON.stringify(begins) });
    }
    for (const record of records) add(record);
    return { bytes: Buffer.from(lines.join("")), place };
  }

  /** The environment ends: writes what waits, behind what is being written. Best effort. */
  writeNow(): void {
    const { bytes, records } = this.#pending;
    const waiting = this.#queue.first(this.#queue.length);
    try {
      const under = this.#seal(waiting.slice(0, records), this.#place, this.#begins);
      const begins = records === 0 ? this.#begins : undefined;
      const last = this.#seal(waiting.slice(records), under.place, begins);
      const isWritten = last.bytes.length === 0 || this.#file.appendNow(last.bytes, bytes);
      if (!isWritten) throw new Error(`the audit log ${this.#file.path} can't be written in time`);
    } catch (error) {
      this.#options.onError(error instanceof Error ? error : new Error(String(error)));
    }
  }
}

const sizeOf = ({ event }: Waiting) => Buffer.byteLength(event) + kEnvelopeBytes;

/** Records that wait to be written: bounded, so that a disk that stands still costs no more memory. */

/** A record that has no place in the chain yet. */
type Waiting = {
  kind: AuditKind;
  /** When it was made; see `AuditEntry`. */
  at: string;
  /** JSON. */
  event: string;
};

const kMostRecords = 100_000;
const kMostCharacters = 64 * 1024 * 1024;

/** First in, first out. */
class RecordQueue {
  #waiting: Waiting[] = [];
  #characters = 0;
  #dropped = 0;

  get length(): number {
    return this.#waiting.length;
  }

  /** Those that were dropped behind all that waits, since {@link takeDropped}. */
  get dropped(): number {
    return this.#dropped;
  }

  /** False: there is no room, and it was dropped. So is what comes after it: the gap has one place. */
  add(record: Waiting): boolean {
    const size = record.event.length;
    const isFull = this.length >= kMostRecords || this.#characters + size > kMostCharacters;
    if (this.#dropped > 0 || isFull) {
      this.#dropped += 1;
      return false;
    }
    this.#characters += size;
    this.#waiting.push(record);
    return true;
  }

  /** The first ones, at most `most`, which stay in it. */
  first(most: number): readonly Waiting[] {
    return this.#waiting.slice(0, most);
  }

  /** They are written. */
  remove(count: number): void {
    for (const { event } of this.#waiting.splice(0, count)) this.#characters -= event.length;
  }

  /** There is room for others from now on. */
  takeDropped(): number {
    const dropped = this.#dropped;
    this.#dropped = 0;
    return dropped;
  }
}
