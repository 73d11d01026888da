// Processes that have lost their host. The reaper above us is the parent of every orphan that the run
// makes, so they are what descends from it and not from us. For a moment there may be some: a host or
// a bwrap was killed and its launcher finds out. What is there for longer is a stray.
import { setTimeout as delay } from "node:timers/promises";

import { now } from "../judge/ledger.mjs";
import { describe, isDead, keyOf, ProcessTree, signal, wordsOf } from "./process-tree.mjs";

const kRoundMs = 50;

export class Strays {
  #seen = new Map();
  #complaints;
  #mark;
  #goneMs;

  /** `goneMs`: how long an orphan may take to go. */
  constructor(mark, goneMs, complaints) {
    this.#mark = mark;
    this.#goneMs = goneMs;
    this.#complaints = complaints;
  }

  #orphans(tree) {
    const below = tree.descendantsOf(process.ppid, new Set([process.pid]));
    return below.filter((each) => !isDead(each));
  }

  /** Complains of orphans that do not go, and ends them: nothing of ours is to stay on the machine. */
  look() {
    const orphans = this.#orphans(new ProcessTree());
    const time = now();
    const seen = new Map(
      orphans.map((each) => [keyOf(each), this.#seen.get(keyOf(each)) ?? { each, since: time }]),
    );
    this.#seen = seen;
    for (const { each, since } of seen.values()) {
      if (time - since < this.#goneMs) continue;
      this.#complaints.add("process left", describe(each));
      signal(each, "SIGKILL");
    }
    return orphans;
  }

  /** Waits until no orphan is left, and nothing below these hosts, which run nothing: not even dead. */
  async none(hostPids) {
    const until = now() + this.#goneMs + 2 * kRoundMs;
    let left = [];
    do {
      await delay(kRoundMs);
      const tree = new ProcessTree();
      left = hostPids.flatMap((pid) => tree.descendantsOf(pid));
    } while ((this.look().length > 0 || left.length > 0) && now() < until);
    for (const each of left) {
      this.#complaints.add("process left below a host", describe(each));
      signal(each, "SIGKILL");
    }
    this.#lookForEscaped(hostPids);
  }

  /** Commands of ours that somehow got out from under the reaper. */
  #lookForEscaped(hostPids) {
    const tree = new ProcessTree();
    const below = new Set(tree.descendantsOf(process.ppid).map(({ pid }) => pid));
    const isOurs = (word) => word.startsWith(`chaos:${this.#mark}:`);
    for (const each of tree.all) {
      if (below.has(each.pid) || hostPids.includes(each.pid)) continue;
      if (wordsOf(each).some(isOurs)) this.#complaints.add("process escaped", describe(each));
    }
  }
}
