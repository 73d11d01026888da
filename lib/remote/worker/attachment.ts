import { Lease } from "../../runners/lease.js";
import type { Channel, Receipt } from "../wire/channel.js";
import type { RunToCaller, RunToWorker, Unnumbered } from "../wire/messages.js";
import type { PendingGuest } from "./guests/guest-for.js";

/** Most callers of one tenant, so that a tenant that invents callers can't fill the worker's memory. */
const kMostOfTenant = 4_096;

/** Most tenants that have callers. A broker without permissions lets clients invent them. */
const kMostTenants = 1_024;
/** Most ends of a tenant's runs that its callers have not confirmed, and bytes in them. */
const kMostEnds = 4_096;
const kMostEndBytes = 32 * 1024 ** 2;

/** Ends that the callers of one tenant have not confirmed. */
export class TenantEnds {
  #count = 0;
  #bytes = 0;

  /** True if no further run may start before some are confirmed. */
  get isFull(): boolean {
    return this.#count >= kMostEnds || this.#bytes >= kMostEndBytes;
  }

  /** @param sign 1: an end more, -1: one less */
  add(bytes: number, sign: 1 | -1): void {
    this.#count += sign;
    this.#bytes += sign * bytes;
  }
}

type Tenant = { callers: Map<string, Attachment>; ends: TenantEnds };

/** The callers that a worker knows. Belongs to one worker. */
export class Attachments {
  readonly #tenants = new Map<string, Tenant>();
  readonly #most: number;
  #leases = 0;

  constructor(most = kMostOfTenant) {
    this.#most = most;
  }

  /** Returns the caller's attachment, and makes it for a new caller. Undefined if its tenant has too many callers. */
  of(tenant: string, caller: string, now: number): Attachment | undefined {
    const own = this.#tenants.get(tenant) ?? { callers: new Map(), ends: new TenantEnds() };
    const { callers, ends } = own;
    const known = callers.get(caller);
    if (known !== undefined) return known;
    if (callers.size >= this.#most) return undefined;
    if (callers.size === 0 && this.#tenants.size >= kMostTenants) return undefined;
    const made = new Attachment(tenant, caller, () => ++this.#leases, now, ends);
    callers.set(caller, made);
    this.#tenants.set(tenant, own);
    return made;
  }

  forget({ tenant, caller }: Attachment): void {
    const callers = this.#tenants.get(tenant)?.callers;
    callers?.delete(caller);
    if (callers?.size === 0) this.#tenants.delete(tenant);
  }

  *[Symbol.iterator](): Generator<Attachment> {
    for (const { callers } of this.#tenants.values()) yield* callers.values();
  }
}

/** Milliseconds of a caller's lease on a worker: its runs end after this long without a sign of life. */
export const kLeaseMs = 4_000;
/** An echo of a beat counts as a sign of life up to this age in milliseconds. */
export const kEchoMs = 2_000;
/** A caller without runs is forgotten after this long a silence. */
const kForgottenMs = 60_000;
/** Beats go to callers heard of within this time, so that they know this worker. */
const kBeatenMs = 10_000;

/** An end that its caller has not confirmed. */
export type UnconfirmedEnd = { say(): void; saidAt: number; bytes: number };

/** The channel of a run, kept until its caller has the end. */
export type RunChannel = Channel<Unnumbered<RunToCaller>, RunToWorker>;

/** A worker's state of one caller. Times are of `performance.now()`. */
export class Attachment {
  readonly tenant: string;
  readonly caller: string;
  readonly runs = new Map<number, PendingGuest>();
  readonly seen = new SeenRuns();
  readonly ends = new Map<number, UnconfirmedEnd>();
  readonly channels = new Map<number, RunChannel>();
  /** The caller's time of its last echo received here. */
  echoSaidAt = 0;
  #lease = new Lease({ ms: kLeaseMs });
  #leaseNumber: number;
  #lostNumber = 0;
  #heardAt: number;
  readonly #nextLease: () => number;

  readonly #tenantEnds: TenantEnds;

  /**
   * @param nextLease returns a number that no other lease of this worker has
   * @param tenantEnds those of all callers of the tenant
   */
  constructor(
    tenant: string,
    caller: string,
    nextLease: () => number,
    now: number,
    tenantEnds = new TenantEnds(),
  ) {
    this.#tenantEnds = tenantEnds;
    this.tenant = tenant;
    this.caller = caller;
    this.#nextLease = nextLease;
    this.#leaseNumber = nextLease();
    this.#heardAt = now;
  }

  /** The lease given to its runs. */
  get lease(): Lease {
    return this.#lease;
  }

  /** Number of the lease; grants under another number are declined. */
  get leaseNumber(): number {
    return this.#leaseNumber;
  }

  /**
   * Records that a message arrived. It does not renew the lease, since the message may have been in transit for long.
   */
  heard(now: number): void {
    this.#heardAt = now;
  }

  /** Renews the lease: a beat sent `at` has been echoed. */
  echoed(at: number, now: number): void {
    if (at <= now && now - at <= kEchoMs) this.#lease.renew();
  }

  /** Confirms and repeats messages by the caller's receipts, which were made after it received the beat of `at`. */
  received(receipts: readonly Receipt[], at: number, now: number): void {
    for (const [run, ack] of receipts) {
      const channel = this.channels.get(run);
      channel?.confirmed(ack);
      channel?.repeat(at, now);
    }
  }

  /** Returns the receipts for messages of the caller. */
  receipts(): [number, number][] {
    return [...this.channels].map(([run, { heard }]) => [run, heard]);
  }

  /** Forgets an ended run: the caller has its end, or will never ask for it. */
  forget(run: number): void {
    const end = this.ends.get(run);
    if (end !== undefined) this.#tenantEnds.add(end.bytes, -1);
    this.ends.delete(run);
    this.channels.delete(run);
  }

  /** Keeps the end of a run until its caller confirms it. */
  ended(run: number, end: UnconfirmedEnd): void {
    this.ends.set(run, end);
    this.#tenantEnds.add(end.bytes, 1);
  }

  /** True if its tenant has to confirm ends before more runs may start. */
  get owesReceipts(): boolean {
    return this.#tenantEnds.isFull;
  }

  /** Makes a new lease for future runs if the current one has expired. Runs under the expired one are dropped. */
  invite(): void {
    if (!this.#lease.expired) return;
    for (const guest of this.runs.values()) guest.drop(); // their launchers have already killed the commands
    this.#lease = new Lease({ ms: kLeaseMs });
    this.#leaseNumber = this.#nextLease();
  }

  /** True on the first call after the lease has expired. */
  isFirstLook(): boolean {
    const isFirst = this.#lostNumber !== this.#leaseNumber;
    this.#lostNumber = this.#leaseNumber;
    return isFirst;
  }

  /** True if the caller should get beats. */
  isBeaten(now: number): boolean {
    return this.runs.size > 0 || now - this.#heardAt < kBeatenMs;
  }

  /** True if the caller has no runs, and has been silent for long. */
  isForgotten(now: number): boolean {
    return this.runs.size === 0 && now - this.#heardAt > kForgottenMs;
  }
}

/** Most runs of a caller that are remembered; those that it has settled do not count. */
const kMostSeen = 65_536;

type Seen = { attempt: number; isStarted: boolean };

/**
 * The grants received from a caller. A grant that is repeated, or arrives after a later one, is ignored, so a run
 * starts here at most once, even if messages are lost, repeated or reordered. Numbers of runs grow; all below `oldest`
 * are settled. Pure.
 */
export class SeenRuns {
  readonly #runs = new Map<number, Seen>();
  #oldest = 0;

  /** True if the grant has not been seen before, and the run may start. */
  isNew(run: number, attempt: number): boolean {
    const seen = this.#runs.get(run);
    if (run < this.#oldest || seen?.isStarted) return false;
    if (seen !== undefined && seen.attempt >= attempt) return false;
    if (seen === undefined && this.#runs.size >= kMostSeen) return false;
    this.#runs.set(run, { attempt, isStarted: false });
    return true;
  }

  /** Records that the run has started; it never starts again. */
  started(run: number): void {
    const seen = this.#runs.get(run);
    if (seen) seen.isStarted = true;
  }

  /**
   * Records that the caller is informed that this attempt, and earlier ones, will never start. Returns false where it
   * can't be recorded: the caller must not be informed then.
   */
  refuse(run: number, attempt: number): boolean {
    const known = this.#runs.get(run);
    if (run < this.#oldest) return true;
    if (known === undefined && this.#runs.size >= kMostSeen) return false;
    const seen = known ?? { attempt, isStarted: false };
    seen.attempt = Math.max(seen.attempt, attempt);
    this.#runs.set(run, seen);
    return true;
  }

  /** Forgets settled runs; grants for them that arrive later are ignored. */
  settled(oldest: number): void {
    if (oldest <= this.#oldest) return;
    this.#oldest = oldest;
    for (const run of this.#runs.keys()) if (run < oldest) this.#runs.delete(run);
  }
}
