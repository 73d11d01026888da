/** The slots of a worker, and the order in which waiting callers get them. */

import { availableParallelism } from "node:os";

import type { Attachment } from "./attachment.js";

/** Milliseconds for which a slot is reserved for the answer to a pull. */
const kReservedMs = 1_000;

/** Returns the default number of slots: that of a runner's lane. */
export const defaultSlots = () => Math.max(8, 4 * availableParallelism());

/** The slots of one worker. Times are of `performance.now()`. */
export class Slots {
  readonly size: number;
  readonly #queue = new FairQueue();
  readonly #attachments: () => Iterable<Attachment>;
  readonly #most: (tenant: string) => number | undefined;
  /** Slots in use, by tenant. */
  readonly #taken = new Map<string, number>();

  /** @param most most slots of a tenant at once; undefined: all of them */
  constructor(
    size: number,
    attachments: () => Iterable<Attachment>,
    most: (tenant: string) => number | undefined = () => undefined,
  ) {
    this.size = size;
    this.#attachments = attachments;
    this.#most = most;
  }

  /** Callers that wait for a slot, by tenant. */
  get waiting(): Record<string, number> {
    return this.#queue.callers();
  }

  wants(tenant: string, caller: string, n: number, now: number): void {
    this.#queue.set(tenant, caller, n, now);
  }

  /** Returns the slots that are not in use, and not reserved for another caller than `own`. */
  free(now: number, own?: Attachment): number {
    let free = this.size;
    for (const taken of this.#taken.values()) free -= taken;
    for (const each of this.#attachments()) if (each !== own) free -= each.reservation(now);
    return Math.max(0, free);
  }

  /** Returns how many of the free slots a tenant may use. */
  freeFor(tenant: string, now: number, own?: Attachment): number {
    const most = this.#most(tenant);
    const free = this.free(now, own);
    if (most === undefined) return free;
    let left = most - (this.#taken.get(tenant) ?? 0);
    for (const each of this.#attachments()) {
      if (each !== own && each.tenant === tenant) left -= each.reservation(now);
    }
    return Math.max(0, Math.min(free, left));
  }

  /** Returns the slots to offer to a tenant's callers without asking: none while others wait. */
  offered(tenant: string, now: number): number {
    return this.#queue.size > 0 ? 0 : this.freeFor(tenant, now);
  }

  /** Takes a slot for a grant. Returns false if none is free. */
  take(attachment: Attachment, now: number): boolean {
    const { tenant } = attachment;
    const isThere = this.freeFor(tenant, now, attachment) > 0;
    attachment.reserved = Math.max(0, attachment.reservation(now) - 1);
    if (isThere) this.#taken.set(tenant, (this.#taken.get(tenant) ?? 0) + 1);
    return isThere;
  }

  release({ tenant }: Attachment): void {
    const left = (this.#taken.get(tenant) ?? 0) - 1;
    if (left > 0) this.#taken.set(tenant, left);
    else this.#taken.delete(tenant);
  }

  /** Drops the caller's reservation: it has no more runs. */
  unreserve(attachment: Attachment): void {
    attachment.reserved = 0;
  }

  /**
   * Gives free slots to waiting callers, one tenant after the other. `pull` asks a caller for `n` runs, and returns
   * undefined if its tenant has too many callers.
   */
  serve(
    now: number,
    pull: (tenant: string, caller: string, n: number) => Attachment | undefined,
  ): void {
    for (let free = this.free(now); free > 0; free = this.free(now)) {
      const isOnly = this.#queue.size === 1;
      const next = this.#queue.next(now, (tenant) => this.freeFor(tenant, now) > 0);
      if (next === undefined) return;
      const n = isOnly ? Math.min(this.freeFor(next.tenant, now), next.n) : 1;
      this.#queue.took(next.tenant, next.caller, n);
      const attachment = pull(next.tenant, next.caller, n);
      if (attachment === undefined) continue;
      attachment.reserved = attachment.reservation(now) + n;
      attachment.reservedUntil = now + kReservedMs;
    }
  }
}

/** A queue of waiting callers: tenants take turns, and within each tenant its callers do. Pure. */

type Waiting = { caller: string; n: number; until: number };

/** Milliseconds after which a waiting caller is forgotten; callers repeat the message while they wait. */
const kRememberedMs = 2_000;
/** Most waiting callers of a tenant, so that a tenant that invents callers can't fill the worker's memory. */
const kMostCallers = 10_000;

/** A ring of tenants, each a ring of callers. Times are of any steady clock, in milliseconds. */
export class FairQueue {
  readonly #tenants = new Map<string, Map<string, Waiting>>();

  /** Returns the number of waiting callers, by tenant. */
  callers(): Record<string, number> {
    return Object.fromEntries([...this.#tenants].map(([tenant, { size }]) => [tenant, size]));
  }

  /** Number of tenants with waiting callers. */
  get size(): number {
    return this.#tenants.size;
  }

  /** Sets how many runs of a caller wait; 0 removes the caller. */
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
   * Returns the next caller and how many of its runs wait, and moves that caller to the end.
   * @param mayHave false for a tenant without a free slot, which keeps its place
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

  /** Subtracts runs that were requested from a caller. */
  took(tenant: string, caller: string, n: number): void {
    const waiting = this.#tenants.get(tenant)?.get(caller);
    if (waiting === undefined) return;
    waiting.n -= n;
    if (waiting.n <= 0) this.set(tenant, caller, 0, 0);
  }
}
