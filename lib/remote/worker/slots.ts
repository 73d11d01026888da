/** How many runs a worker has at once, and who gets the next place. */

import { availableParallelism } from "node:os";

import type { Attachment } from "./attachment.js";

/** So long a slot is kept for the answer to a pull. */
const kReservedMs = 1_000;

/** As many runs at once as a lane of a runner has by itself. */
export const defaultSlots = () => Math.max(8, 4 * availableParallelism());

/** Belongs to one worker. Times are of `performance.now()`. */
export class Slots {
  readonly size: number;
  readonly #queue = new FairQueue();
  readonly #attachments: () => Iterable<Attachment>;
  readonly #most: (tenant: string) => number | undefined;
  /** Those that are taken, by tenant. */
  readonly #taken = new Map<string, number>();

  /** @param most how many a tenant may have at once; undefined: all of them. */
  constructor(
    size: number,
    attachments: () => Iterable<Attachment>,
    most: (tenant: string) => number | undefined = () => undefined,
  ) {
    this.size = size;
    this.#attachments = attachments;
    this.#most = most;
  }

  /** Callers that wait for one, by tenant. */
  get waiting(): Record<string, number> {
    return this.#queue.callers();
  }

  wants(tenant: string, caller: string, n: number, now: number): void {
    this.#queue.set(tenant, caller, n, now);
  }

  /** Those that nobody has, and that are kept for nobody but `own`. */
  free(now: number, own?: Attachment): number {
    let free = this.size;
    for (const taken of this.#taken.values()) free -= taken;
    for (const each of this.#attachments()) if (each !== own) free -= each.reservation(now);
    return Math.max(0, free);
  }

  /** Of these, what a tenant may have. */
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

  /** What a tenant's callers are told: while others wait, those who are asked come first. */
  offered(tenant: string, now: number): number {
    return this.#queue.size > 0 ? 0 : this.freeFor(tenant, now);
  }

  /** A grant of its has come. False: there is none. */
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

  /** It has no more to run. */
  unreserve(attachment: Attachment): void {
    attachment.reserved = 0;
  }

  /**
   * Gives slots that are free to those that wait: to tenants in turn. `pull` asks a caller for so many runs, unless its
   * tenant has too many callers.
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
