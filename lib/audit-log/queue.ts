/** Records that wait to be written: bounded, so that a disk that stands still costs no more memory. */

import type { AuditKind } from "../../types/audit-log.js";

/** A record that has no place in the chain yet. */
export type Waiting = {
  kind: AuditKind;
  /** When it was made; see `AuditEntry`. */
  at: string;
  /** JSON. */
  event: string;
};

const kMostRecords = 100_000;
const kMostCharacters = 64 * 1024 * 1024;

/** First in, first out. */
export class RecordQueue {
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
