/** Writes records in the background: in order, in batches, one batch at a time. */

import type { KeyObject } from "node:crypto";

import type { AuditEvents, AuditKind } from "../../types/audit-log.js";
import { isSignatureDue, kGenesis, seal } from "./chain.js";
import type { LogFile } from "./log-file.js";

const kMostAtOnce = 64; // records: sealing them blocks the host's own thread
const kMostBatchBytes = 256 * 1024;
const kEnvelopeBytes = 400; // of a signed record, besides its event
const kRetryMs = [100, 500, 2000, 5000];

/** Options of a writer; see `AuditLogOptions`. */
export type WriterOptions = {
  key: KeyObject | undefined;
  signEvery: number;
  /** `Infinity`: a single file. */
  maxBytes: number;
  /** Called with the first of consecutive failures, and when records are lost. Must not throw. */
  onError: (error: Error) => void;
};

type Waiter = { upTo: number; resolve: () => void; reject: (error: unknown) => void };

/** A position in the chain. */
type Place = { seq: number; head: string };

/** Writes the records of one open log. */
export class RecordWriter {
  readonly #file: LogFile;
  readonly #options: WriterOptions;
  readonly #queue = new RecordQueue();
  #place: Place = { seq: 0, head: kGenesis };
  /** The first record of a new file, written before all others. */
  #begins: AuditEvents["file"] | undefined;
  /** Why records could not be written since the last gap. */
  #reason = "";
  #added = 0;
  #done = 0;
  #waiters: Waiter[] = [];
  /** The batch that is being written. */
  #pending = { bytes: 0, records: 0 };
  #draining: Promise<void> | undefined;
  #failures = 0;

  /** @param file an open file; the chain continues from its tail */
  constructor(file: LogFile, options: WriterOptions) {
    this.#file = file;
    this.#options = options;
    const { tail, before } = file;
    const last = tail.last ?? before?.last;
    if (last !== undefined) this.#place = { seq: last.seq + 1, head: last.hash };
    if (before !== undefined) this.#begins = { previous: before.name, head: before.last.hash };
  }

  /** The hash of the last record written. */
  get head(): string {
    return this.#place.head;
  }

  /** Adds a record. Returns false if the queue is full and the record was dropped; a `gap` record will report it. */
  add(kind: AuditKind, event: string): boolean {
    if (!this.#queue.add({ kind, at: new Date().toISOString(), event })) {
      this.#reason ||= "more records came than could be written";
      return false;
    }
    this.#added += 1;
    if (this.#draining === undefined && this.#failures === 0) void this.#drain();
    return true;
  }

  /** Resolves when all added records are written; rejects when the next attempt fails. */
  async flush(): Promise<void> {
    if (this.#done >= this.#added) return;
    await new Promise<void>((resolve, reject) => {
      this.#waiters.push({ upTo: this.#added, resolve, reject });
      void this.#drain();
    });
  }

  /** Flushes, and closes the file even if that fails. */
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
    setTimeout(() => void this.#drain(), ms).unref(); // unref: a host that has finished need not wait for the disk
  }

  async #writeAll(): Promise<void> {
    await new Promise((resolve) => setImmediate(resolve)); // collect simultaneous records into one batch
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

  /** Returns as many records as fit, at least one. */
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

  /** Returns the lines of records, and the position of the chain after them. */
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

  /** Called when the environment exits: writes queued records after the batch that is being written. Best effort. */
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

/** A bounded queue of records to be written, so that a stalled disk does not fill the memory. */

/** A record without a position in the chain. */
type Waiting = {
  kind: AuditKind;
  /** Time of its creation; see `AuditEntry`. */
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

  /** Number of records dropped after all queued ones, since {@link takeDropped}. */
  get dropped(): number {
    return this.#dropped;
  }

  /**
   * Adds a record. Returns false if the queue is full; then further records are dropped too, so that there is one gap.
   */
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

  /** Returns the first records, at most `most`, without removing them. */
  first(most: number): readonly Waiting[] {
    return this.#waiting.slice(0, most);
  }

  /** Removes records that were written. */
  remove(count: number): void {
    for (const { event } of this.#waiting.splice(0, count)) this.#characters -= event.length;
  }

  /** Returns the number of dropped records, and accepts records again. */
  takeDropped(): number {
    const dropped = this.#dropped;
    this.#dropped = 0;
    return dropped;
  }
}
