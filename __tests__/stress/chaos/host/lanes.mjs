// The lanes of one Node environment: each does one random action after another, with the runners that
// they share.
import { kActions } from "../actions/index.mjs";
import { Random } from "../random.mjs";
import { RunnerSet } from "./runner-set.mjs";

export class Lanes {
  #isOver = false;
  #running;
  #runners;

  /** `name`: of the environment, in ids; `count`: how many lanes; `workers`: WorkerPlaces, if any; `gigabytes`, if any. */
  constructor({ name, seed, mark, kinds, count, workspaces, ledger, workers, gigabytes }) {
    this.#runners = new RunnerSet(name, kinds, workspaces, ledger);
    let calls = 0;
    const shared = {
      runners: this.#runners,
      workspaces,
      ledger,
      workers,
      gigabytes,
      nextCall: () => `${name}/${++calls}`,
      tokenOf: (call, { kind }) => `chaos:${mark}:${call}:${kind}`,
    };
    const run = (_, i) => this.#run({ ...shared, random: new Random(seed, name, "lane", i) });
    this.#running = Promise.all(Array.from({ length: count }, run));
  }

  async #run(context) {
    while (!this.#isOver) await context.random.weighted(kActions).run(context);
  }

  /** Resolves when all calls have settled and all runners are closed. */
  async end() {
    this.#isOver = true;
    await this.#running;
    await this.#runners.closeAll();
  }
}
