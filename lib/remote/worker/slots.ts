/** How many runs a worker has at once, and who gets the next place. */

import { availableParallelism } from "node:os";

import type { Attachment } from "./attachment.js";
import { FairQueue } from "./fair-queue.js";

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
