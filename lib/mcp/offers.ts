/** Grants that a command's denials have named: a model can ask for one of these, and for no other. */

import type { Denial } from "../../types/denials.js";

const kMostOffers = 256;

export class GrantOffers {
  readonly #byId = new Map<string, Denial>(); // the oldest first
  readonly #ids = new Map<string, string>();
  readonly #granted = new Map<string, Denial>();
  #last = 0;

  /** The id of a denial's grant; undefined where it has none that can be given. */
  offer(denial: Denial): string | undefined {
    const cli = denial.grant?.cli ?? "";
    if (cli === "" || this.#granted.has(cli)) return undefined;
    const known = this.#ids.get(cli);
    if (known !== undefined) return known;
    this.#last += 1;
    const id = `g${this.#last}`;
    this.#ids.set(cli, id);
    this.#byId.set(id, denial);
    const [oldest] = this.#byId;
    if (this.#byId.size > kMostOffers && oldest !== undefined) {
      this.#byId.delete(oldest[0]);
      this.#ids.delete(oldest[1].grant?.cli ?? "");
    }
    return id;
  }

  find(id: string): Denial | undefined {
    return this.#byId.get(id);
  }

  isGranted(denial: Denial): boolean {
    return this.#granted.has(denial.grant?.cli ?? "");
  }

  /** They have been given, for as long as the server lives. */
  give(denials: readonly Denial[]): void {
    for (const denial of denials) this.#granted.set(denial.grant?.cli ?? "", denial);
  }

  /** All that were given. */
  given(): Denial[] {
    return [...this.#granted.values()];
  }
}
