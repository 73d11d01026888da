/** Who has said that runs wait, and whose turn it is: one tenant after the other, and in each its callers. Pure. */

type Waiting = { caller: string; n: number; until: number };

/** What is said is forgotten after this, unless it is said again: callers repeat it while they wait. */
const kRememberedMs = 2_000;
/** A tenant can't fill the memory of a worker by inventing callers. */
const kMostCallers = 10_000;

/** A ring of tenants, each a ring of callers. Times are of any steady clock, in milliseconds. */
export class FairQueue {
  readonly #tenants = new Map<string, Map<string, Waiting>>();

  /** How many wait, by tenant. */
  callers(): Record<string, number> {
    return Object.fromEntries([...this.#tenants].map(([tenant, { size }]) => [tenant, size]));
  }

  /** Tenants of which somebody waits. */
  get size(): number {
    return this.#tenants.size;
  }

  /** So many of the caller's runs wait; 0: none any more. */
  set(tenant: string, caller: string, n: number, now: number): void {
    const callers = this.#tenants.get(tenant);
    if (n === 0) {
      callers?.delete(caller);
      if (callers?.size === 0) this.#tenants.delete(tenant);
      return;
    }
    const known = callers ?? new Map<string, Waiting>();
    if (!known.has(caller) && known.size >= kMostCallers) return;
    known.set(caller, { caller, n, until: now + kRememberedMs });
    if (callers === undefined) this.#tenants.set(tenant, known);
  }

  /**
   * Whose turn it is, and how many of his runs wait. He comes last from here on.
   * @param mayHave of a tenant; one that may not keeps its place.
   */
  next(
    now: number,
    mayHave: (tenant: string) => boolean = () => true,
  ): { tenant: string; caller: string; n: number } | undefined {
    for (const [tenant, callers] of this.#tenants) {
      if (!mayHave(tenant)) continue;
      this.#tenants.delete(tenant);
      for (const [caller, waiting] of callers) {
        callers.delete(caller);
        if (waiting.until < now) continue;
        callers.set(caller, waiting);
        this.#tenants.set(tenant, callers);
        return { tenant, caller, n: waiting.n };
      }
    }
    return undefined;
  }

  /** One fewer of his runs waits, as far as is known here. */
  took(tenant: string, caller: string, n: number): void {
    const waiting = this.#tenants.get(tenant)?.get(caller);
    if (waiting === undefined) return;
    waiting.n -= n;
    if (waiting.n <= 0) this.set(tenant, caller, 0, 0);
  }
}
