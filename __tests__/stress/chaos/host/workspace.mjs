// A workspace that is replaced by another directory of the same name, as an operator would do it who
// checks something out anew. The file `generation` in it tells which one a command saw.
import { mkdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import { now } from "../judge/ledger.mjs";

/** Each waits 100 ms longer than the one before (rmSync). */
const kMostRemovals = 20;

export class Workspace {
  #generation = 0;

  constructor(path) {
    this.path = path;
    this.#make();
  }

  get generation() {
    return this.#generation;
  }

  #make() {
    mkdirSync(this.path, { recursive: true });
    writeFileSync(join(this.path, "generation"), `${this.#generation}\n`);
  }

  replace(ledger) {
    const since = now();
    const old = `${this.path}-old-${this.#generation++}`;
    renameSync(this.path, old);
    this.#make();
    ledger.write({ event: "replace", workspace: this.path, since });
    // Commands that began in it may still make files there.
    rmSync(old, { recursive: true, force: true, maxRetries: kMostRemovals });
  }
}
