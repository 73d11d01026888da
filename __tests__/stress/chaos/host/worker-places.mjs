// How many workers a host may have at once, and what a new one is given.
import { join } from "node:path";

const kMost = 2;

export class WorkerPlaces {
  #taken = 0;
  #made = 0;
  #given;

  /** `given`: settings of lanes that all workers share, with the host's name and directory. */
  constructor(given) {
    this.#given = given;
  }

  /** A worker's data; undefined where there are enough. */
  take() {
    if (this.#taken === kMost) return undefined;
    this.#taken += 1;
    const number = ++this.#made;
    const { host, directory, ...shared } = this.#given;
    return {
      ...shared,
      host,
      name: `${host}/worker-${number}`,
      directory: join(directory, `worker-${number}`),
    };
  }

  giveBack() {
    this.#taken -= 1;
  }
}
