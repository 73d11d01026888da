/** The slots of a worker, and the order in which waiting callers get them. */

import { availableParallelism } from "node:os";

import type { Attachment } from "./attachment.js";

/** Milliseconds for which a slot is reserved for the answer to a pull. */
const kReservedMs = 1_000;

/** Returns the default number of slots: that of a runner's lane. */
export const defaultSlots = () => Math.max(8, 4 * availableParallelism());

/** The shortest time for a tenant whose callers do not answer. */
const kLeastReservedMs = 50;
/** Unanswered pulls beyond which more make no difference. */
const kMostMisses = 6;
/** The share of an unanswered pull that one answer makes good: callers that are not there must cost more than those that are. */
const kMadeGood = 0.25;
/** Milliseconds until a tenant is pulled again for each time that its trust was halved. */
const kPauseMs = 200;

/** Slots that a caller has for the answer to a pull. */
type Reservation = { n: number; until: number };
/** How far pulls of a tenant were not answered, and when it may be pulled again. */
type Trust = { misses: number; pausedUntil: number };

/**
 * The slots of one worker. A pull that is not answered costs the tenant, since its slots were kept for nobody: it gets
 * fewer of them, for a shorter time, and less often. Times are of `performance.now()`.
 */
export class Slots {
  readonly size: number;
  readonly #queue = new FairQueue();
  readonly #most: (tenant: string) => number | undefined;
  /** Slots in use, by tenant. */
  readonly #taken = new Map<string, number>();
  /** At most as many as there are slots. */
  readonly #reserved = new Map<Attachment, Reservation>();
  /** Of tenants that have left pulls unanswered. */
  readonly #trust = new Map<string, Trust>();

  /** @param most most slots of a tenant at once; undefined: all of them */
  constructor(size: number, most: (tenant: string) => number | undefined = () => undefined) {
    this.size = size;
    this.#most = most;
  }

  /** Callers that wait for a slot, by tenant. */
  get waiting(): Record<string, number> {
    return this.#queue.callers();
  }

  wants(tenant: string, caller: string, n: number, now: number): void {
    this.#queue.set(tenant, caller, n, now);
  }

  /** Returns the slots that are kept for a caller. */
  reservation(attachment: Attachment, now: number): number {
    this.#expire(now);
    return this.#reserved.get(attachment)?.n ?? 0;
  }

  /** Returns the slots that are not in use, and not reserved for another caller than `own`. */
  free(now: number, own?: Attachment): number {
    let free = this.size;
    for (const taken of this.#taken.values()) free -= taken;
    return Math.max(0, free - this.#kept(now, own));
  }

  /** Returns how many slots a tenant can have at once. */
  mostOf(tenant: string): number {
    return Math.min(this.size, this.#most(tenant) ?? this.size);
  }

  /** Returns how many of the free slots a tenant may use. */
  freeFor(tenant: string, now: number, own?: Attachment): number {
    const most = this.#most(tenant);
    const free = this.free(now, own);
    if (most === undefined) return free;
    const left = most - (this.#taken.get(tenant) ?? 0) - this.#kept(now, own, tenant);
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
    const reservation = this.#reserved.get(attachment);
    if (reservation !== undefined) {
      this.#answered(tenant);
      reservation.n -= 1;
      if (reservation.n <= 0) this.#reserved.delete(attachment);
    }
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
    if (this.#reserved.delete(attachment)) this.#answered(attachment.tenant);
  }

  /**
   * Gives free slots to waiting callers, one tenant after the other. `pull` asks a caller for `n` runs, and returns
   * undefined if its tenant has too many callers.
   */
  serve(
    now: number,
    pull: (tenant: string, caller: string, n: number) => Attachment | undefined,
  ): void {
    while (this.free(now) > 0) {
      const isOnly = this.#queue.size === 1;
      const next = this.#queue.next(now, (tenant) => this.#pullable(tenant, now) > 0);
      if (next === undefined) return;
      const n = isOnly ? Math.min(this.#pullable(next.tenant, now), next.n) : 1;
      this.#queue.took(next.tenant, next.caller, n);
      const attachment = pull(next.tenant, next.caller, n);
      if (attachment === undefined) continue;
      const own = this.#reserved.get(attachment)?.n ?? 0;
      this.#reserved.set(attachment, { n: own + n, until: now + this.#reservedMs(next.tenant) });
    }
  }

  /** Returns how many runs a tenant may be asked for. */
  #pullable(tenant: string, now: number): number {
    const free = this.freeFor(tenant, now);
    const trust = this.#trust.get(tenant);
    if (trust === undefined || free === 0) return free;
    if (now < trust.pausedUntil) return 0;
    const most = Math.max(1, Math.floor(this.size / 2 ** trust.misses));
    return Math.max(0, Math.min(free, most - this.#kept(now, undefined, tenant)));
  }

  #reservedMs(tenant: string): number {
    const { misses } = this.#trust.get(tenant) ?? { misses: 0 };
    return Math.max(kLeastReservedMs, kReservedMs / 2 ** misses);
  }

  /** Returns the slots that are kept for others than `own`: of a tenant, or of all. */
  #kept(now: number, own?: Attachment, tenant?: string): number {
    this.#expire(now);
    let kept = 0;
    for (const [attachment, { n }] of this.#reserved) {
      const isCounted = tenant === undefined || attachment.tenant === tenant;
      if (attachment !== own && isCounted) kept += n;
    }
    return kept;
  }

  #expire(now: number): void {
    for (const [attachment, { until }] of this.#reserved) {
      if (now <= until) continue;
      this.#reserved.delete(attachment);
      const trust = this.#trust.get(attachment.tenant) ?? { misses: 0, pausedUntil: 0 };
      trust.misses = Math.min(kMostMisses, trust.misses + 1);
      trust.pausedUntil = now + (trust.misses - 1) * kPauseMs;
      this.#trust.set(attachment.tenant, trust);
    }
  }

  #answered(tenant: string): void {
    const trust = this.#trust.get(tenant);
    if (trust === undefined) return;
    trust.misses -= kMadeGood;
    if (trust.misses <= 0) this.#trust.delete(tenant);
  }
}

/** A queue of waiting callers: tenants take turns, and within each tenant its callers do. Pure. */

type Waiting = { caller: string; n: number; until: number };

/** Milliseconds after which a waiting caller is forgotten; callers repeat the message while they wait. */
const kRememberedMs = 2_000;
/** Most waiting callers of a tenant, so that a tenant that invents callers can't fill the worker's memory. */
const kMostCallers = 1_024;

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
