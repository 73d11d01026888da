import type { WireErrorShape } from "../wire/messages.js";

/** Numbers by name. */
class Tally {
  readonly #counts = new Map<string, number>();

  add(name: string): void {
    this.#counts.set(name, (this.#counts.get(name) ?? 0) + 1);
  }

  all(): Record<string, number> {
    return Object.fromEntries(this.#counts);
  }
}

/** What a worker has done since it was started; counters only grow. */
export class WorkerCounts {
  /** Grants that were started. */
  started = 0;
  /** Grants that were not, by reason. */
  readonly declined = new Tally();
  /** Calls that were rejected: for what is wrong in them, or more than the policy allows. */
  refused = 0;
  /** Messages that were none of ours. */
  dropped = 0;
  /** Leases that ended with runs under them. */
  leasesLost = 0;
  /** Bytes of input that came, and of output that was sent. */
  bytesIn = 0;
  bytesOut = 0;
  /** Runs by how they ended. */
  readonly outcomes = new Tally();

  ended(value: unknown, error: WireErrorShape | undefined): void {
    if (error !== undefined) this.refused += 1;
    else for (const each of Array.isArray(value) ? value : [value]) this.#ended(each);
  }

  #ended(value: unknown): void {
    const kind = (value as { outcome?: { kind?: unknown } } | undefined)?.outcome?.kind;
    if (typeof kind === "string") this.outcomes.add(kind);
  }
}
