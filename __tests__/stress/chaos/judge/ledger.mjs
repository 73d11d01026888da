// What happened, one line of JSON each, written before anything else can: a host that is killed has
// told all that it did. One file a host, so that a line which the kill tears spoils no other.
import { openSync, readFileSync, writeSync } from "node:fs";

/** Milliseconds of the machine's monotonic clock, which all processes share. */
export const now = () => Number(process.hrtime.bigint() / 1000n) / 1000;

export const openLedger = (file) => openSync(file, "a");

export class Ledger {
  #descriptor;
  #who;

  /** `who`: fields of every line, such as the host and the worker that write it. */
  constructor(descriptor, who) {
    this.#descriptor = descriptor;
    this.#who = who;
  }

  write(event) {
    const line = JSON.stringify({ at: now(), ...this.#who, ...event });
    writeSync(this.#descriptor, `${line}\n`);
  }
}

/** All whole lines; a host that was killed may have torn its last one. */
export function readLedger(file) {
  const lines = readFileSync(file, "utf8").split("\n");
  lines.pop(); // nothing, or torn
  return lines.map((line) => JSON.parse(line));
}
