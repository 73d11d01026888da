/** The runs of one pool that wait for a slot, in the order of their numbers. Pure. */

import type { RemoteRun } from "./remote-run.js";

type Waiting = Pick<RemoteRun, "number"> & { request: Pick<RemoteRun["request"], "onWorker"> };
type Entry<Run> = { number: number; run: Run | undefined };

/** Dropped entries at the front of a lane after which it is made shorter. */
const kCompactFrom = 1_024;

/** Runs that the same workers can have. Adding in order, taking the first and removing cost no more with more runs. */
class Lane<Run extends Waiting> {
  #entries: Entry<Run>[] = [];
  #head = 0;

  add(run: Run): void {
    const entry = { number: run.number, run };
    const last = this.#entries.at(-1);
    if (last === undefined || last.number < entry.number) this.#entries.push(entry);
    else this.#entries.splice(this.#place(entry.number), 0, entry);
  }

  first(): Run | undefined {
    while (this.#head < this.#entries.length) {
      const run = this.#entries[this.#head]?.run;
      if (run !== undefined) return run;
      this.#head += 1;
    }
    this.#entries = [];
    this.#head = 0;
    return undefined;
  }

  remove({ number }: Run): boolean {
    const entry = this.#entries[this.#place(number)];
    if (entry?.number !== number || entry.run === undefined) return false;
    entry.run = undefined;
    if (this.#entries[this.#head] === entry) this.#head += 1;
    if (this.#head >= kCompactFrom && this.#head * 2 > this.#entries.length) {
      this.#entries = this.#entries.slice(this.#head);
      this.#head = 0;
    }
    return true;
  }

  /** Returns the index of the first entry from the head on whose number is not lower. */
  #place(number: number): number {
    let [from, to] = [this.#head, this.#entries.length];
    while (from < to) {
      const middle = (from + to) >>> 1;
      if ((this.#entries[middle]?.number ?? number) < number) from = middle + 1;
      else to = middle;
    }
    return from;
  }
}

/** A queue of runs; some can be had by the workers of one name only. */
export class RunQueue<Run extends Waiting = RemoteRun> {
  /** By name of the worker; undefined: for any. */
  readonly #lanes = new Map<string | undefined, Lane<Run>>();
  #size = 0;

  get size(): number {
    return this.#size;
  }

  add(run: Run): void {
    const { onWorker } = run.request;
    let lane = this.#lanes.get(onWorker);
    if (lane === undefined) {
      lane = new Lane();
      this.#lanes.set(onWorker, lane);
    }
    lane.add(run);
    this.#size += 1;
  }

  /** Returns the first run that a worker of this name can have. */
  firstFor(name: string): Run | undefined {
    const any = this.#lanes.get(undefined)?.first();
    const own = this.#lanes.get(name)?.first();
    if (any === undefined || own === undefined) return any ?? own;
    return own.number < any.number ? own : any;
  }

  /** Removes a run. Does nothing if it does not wait here. */
  remove(run: Run): void {
    const { onWorker } = run.request;
    const lane = this.#lanes.get(onWorker);
    if (!lane?.remove(run)) return;
    this.#size -= 1;
    if (onWorker !== undefined && lane.first() === undefined) this.#lanes.delete(onWorker);
  }
}
