import { Lease } from "../../runners/lease.js";
import type { Channel, Receipt } from "../wire/channel.js";
import type { RunToCaller, RunToWorker, Unnumbered } from "../wire/messages.js";
import type { PendingGuest } from "./guests/guest-for.js";

/** A tenant can't fill the memory of a worker by inventing callers; it holds up nobody but itself. */
const kMostOfTenant = 4_096;

/** The callers that a worker knows. Belongs to one worker. */
export class Attachments {
  readonly #tenants = new Map<string, Map<string, Attachment>>();
  readonly #most: number;
  #leases = 0;

  constructor(most = kMostOfTenant) {
    this.#most = most;
  }

  /** The caller's, made when it is new. Undefined: its tenant has as many callers as one may have. */
  of(tenant: string, caller: string, now: number): Attachment | undefined {
    const callers = this.#tenants.get(tenant) ?? new Map<string, Attachment>();
    const known = callers.get(caller);
    if (known !== undefined) return known;
    if (callers.size >= this.#most) return undefined;
    const made = new Attachment(tenant, caller, () => ++this.#leases, now);
    callers.set(caller, made);
    this.#tenants.set(tenant, callers);
    return made;
  }

  forget({ tenant, caller }: Attachment): void {
    const callers = this.#tenants.get(tenant);
    callers?.delete(caller);
    if (callers?.size === 0) this.#tenants.delete(tenant);
  }

  *[Symbol.iterator](): Generator<Attachment> {
    for (const callers of this.#tenants.values()) yield* callers.values();
  }
}

/** A lease of a caller on a worker, in milliseconds: so long its runs go on without a word of it. */
export const kLeaseMs = 4_000;
/** An echo of a beat counts as a sign of life when it is no older. */
export const kEchoMs = 2_000;
/** A caller without runs is forgotten after so long a silence; a new one is made when it comes again. */
const kForgottenMs = 60_000;
/** Beats go to callers that were heard of so lately, so that they know this worker. */
const kBeatenMs = 10_000;

/** An end that its caller has not confirmed. */
export type UnconfirmedEnd = { say(): void; saidAt: number };

/** Of a run, until its caller has its end. */
export type RunChannel = Channel<Unnumbered<RunToCaller>, RunToWorker>;

/** What a worker has of one caller. Times are of `performance.now()`. */
export class Attachment {
  readonly tenant: string;
  readonly caller: string;
  readonly runs = new Map<number, PendingGuest>();
  readonly seen = new SeenRuns();
  readonly ends = new Map<number, UnconfirmedEnd>();
  readonly channels = new Map<number, RunChannel>();
  /** The caller's time of its last echo that came. */
  echoSaidAt = 0;
  /** Slots that are kept for answers to pulls, until then. */
  reserved = 0;
  reservedUntil = 0;
  #lease = new Lease({ ms: kLeaseMs });
  #leaseNumber: number;
  #lostNumber = 0;
  #heardAt: number;
  readonly #nextLease: () => number;

  /** @param nextLease numbers that no other lease of this worker has. */
  constructor(tenant: string, caller: string, nextLease: () => number, now: number) {
    this.tenant = tenant;
    this.caller = caller;
    this.#nextLease = nextLease;
    this.#leaseNumber = nextLease();
    this.#heardAt = now;
  }

  /** What its runs are given. */
  get lease(): Lease {
    return this.#lease;
  }

  /** Which it is; grants under another one are refused. */
  get leaseNumber(): number {
    return this.#leaseNumber;
  }

  /** Something has come from it. It does not renew the lease: that may have been on its way for long. */
  heard(now: number): void {
    this.#heardAt = now;
  }

  /** A beat of ours, made `at`, came back. */
  echoed(at: number, now: number): void {
    if (at <= now && now - at <= kEchoMs) this.#lease.renew();
  }

  /** What the caller has of our part of its runs, as it was when it had heard our beat of `at`. */
  received(receipts: readonly Receipt[], at: number, now: number): void {
    for (const [run, ack] of receipts) {
      const channel = this.channels.get(run);
      channel?.confirmed(ack);
      channel?.repeat(at, now);
    }
  }

  /** What we have of the caller's part. */
  receipts(): [number, number][] {
    return [...this.channels].map(([run, { heard }]) => [run, heard]);
  }

  /** The caller has its end, or will never ask for it. */
  forget(run: number): void {
    this.ends.delete(run);
    this.channels.delete(run);
  }

  /** Another lease, if this one has ended: for runs that are asked for now. What was under it is ended. */
  invite(): void {
    if (!this.#lease.expired) return;
    for (const guest of this.runs.values()) guest.drop(); // commands are killed already, by their launchers
    this.#lease = new Lease({ ms: kLeaseMs });
    this.#leaseNumber = this.#nextLease();
  }

  /** Whether its lease is looked at for the first time since it has ended. */
  isFirstLook(): boolean {
    const isFirst = this.#lostNumber !== this.#leaseNumber;
    this.#lostNumber = this.#leaseNumber;
    return isFirst;
  }

  /** It should hear of us. */
  isBeaten(now: number): boolean {
    return this.runs.size > 0 || now - this.#heardAt < kBeatenMs;
  }

  /** Nothing of it is left, and nothing has come from it for long. */
  isForgotten(now: number): boolean {
    return this.runs.size === 0 && now - this.#heardAt > kForgottenMs;
  }

  reservation(now: number): number {
    if (now > this.reservedUntil) this.reserved = 0;
    return this.reserved;
  }
}

type Seen = { attempt: number; isStarted: boolean };

/**
 * Which grants of a caller have come: one that comes again, or after a later one, is not obeyed. So a run is started
 * here once at most, whatever the way makes of messages. Numbers of runs grow; all below `oldest` are settled. Pure.
 */
export class SeenRuns {
  readonly #runs = new Map<number, Seen>();
  #oldest = 0;

  /** Whether it has not come before, and may be started. */
  isNew(run: number, attempt: number): boolean {
    const seen = this.#runs.get(run);
    if (run < this.#oldest || seen?.isStarted) return false;
    if (seen !== undefined && seen.attempt >= attempt) return false;
    this.#runs.set(run, { attempt, isStarted: false });
    return true;
  }

  /** It is started, and will never be again. */
  started(run: number): void {
    const seen = this.#runs.get(run);
    if (seen) seen.isStarted = true;
  }

  /** Its caller was told that this attempt, and those before, will never be started. */
  refuse(run: number, attempt: number): void {
    const seen = this.#runs.get(run) ?? { attempt, isStarted: false };
    seen.attempt = Math.max(seen.attempt, attempt);
    this.#runs.set(run, seen);
  }

  /** Nothing that is still on its way can start one of those that are settled. */
  settled(oldest: number): void {
    if (oldest <= this.#oldest) return;
    this.#oldest = oldest;
    for (const run of this.#runs.keys()) if (run < oldest) this.#runs.delete(run);
  }
}
