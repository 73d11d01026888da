/**
 * Runs commands for the callers of a pool. It requests runs while it has slots, starts each granted run at most once,
 * and reports its end until the caller confirms it. Belongs to one JavaScript thread.
 */

import { randomBytes } from "node:crypto";

import { packageVersion } from "../../package-version.js";
import type { Connection, Received } from "../broker/connection.js";
import { answerOperators, type Operation, type WorkerReport } from "../operators.js";
import {
  freeSubject,
  fromWorkerSubject,
  isToken,
  lastOf,
  wantSubject,
  workerSubject,
} from "../subjects.js";
import { type Frame, Inbox, Outbox, WireError } from "../wire/frame.js";
import {
  readToWorker,
  type ToCaller,
  type ToWorker,
  type WireErrorShape,
} from "../wire/messages.js";
import { type Attachment, Attachments } from "./attachment.js";
import { Fitness, setUpOf } from "./fitness.js";
import { kDrained, type Places } from "./guest.js";
import type { PendingGuest } from "./guests/guest-for.js";
import { hostRun, ReportedEnd } from "./hosted-run.js";
import { Slots } from "./slots.js";

const kBeatMs = 500;
/** An end without a receipt is sent again after this time. */
const kAgainMs = 1_000;

/** Options of {@link Worker}. */
export type WorkerOptions = {
  connection: Connection;
  pool: string;
  name: string;
  slots: number;
  places: Places;
  /** Called when the worker begins or ceases to take runs by its canary; `why` is undefined when it takes some. */
  fitnessChanged?(why: string | undefined): void;
  /** Called when an operator has it cordoned, uncordoned or drained; the drain itself is left to the callee. */
  operated?(what: Operation, operator: string): void;
  /** Milliseconds without a call or command after which a session or transaction is ended. Default 3 600 000. */
  idleMs?: number | undefined;
  /** Most bytes of standard input of one `exec`, which are collected. Default 64 MiB. */
  mostStdinBytes?: number | undefined;
};

const kLongestTimerMs = 2 ** 31 - 1;
const kIdleMs = 3_600_000;
const kMostStdinBytes = 64 * 1024 ** 2;
/** Most bytes of incomplete frames of one tenant. */
const kMostPartialBytes = 32 * 1024 ** 2;
/** Most tenants whose messages are read. */
const kMostTenants = 1_024;

type Grant = Extract<ToWorker, { t: "grant" }>;
type OfRun = Exclude<Extract<ToWorker, { run: number }>, Grant>;
type OfCaller = Exclude<ToWorker, Grant | OfRun | { t: "want" }>;
type Declined = Extract<ToCaller, { t: "decline" }>["why"];

export class Worker {
  /** The worker's name and the number of its process. */
  readonly id: string;
  readonly counts = new WorkerCounts();
  readonly slots: Slots;
  readonly #name: string;
  readonly #pool: string;
  readonly #connection: Connection;
  readonly #places: Places;
  readonly #mostStdinBytes: number;
  readonly #idleMs: number;
  readonly #outbox: Outbox;
  readonly #inboxes = new Map<string, Inbox>();
  readonly #attachments = new Attachments();
  readonly #unsubscribe: (() => void)[] = [];
  readonly #door: AvailabilitySubscription;
  readonly #fitness: Fitness;
  readonly #operated: NonNullable<WorkerOptions["operated"]>;
  readonly #startedAt = performance.now();
  readonly #version = packageVersion();
  #isDraining = false;
  #cordonedBy: string | undefined;
  #timer: ReturnType<typeof setInterval> | undefined;
  #settled = () => {};

  constructor(options: WorkerOptions) {
    const { connection, pool, name, slots, places, mostStdinBytes } = options;
    this.#fitness = new Fitness({
      canary: async () => places.canary?.(),
      changed: () => {
        options.fitnessChanged?.(this.#fitness.unfit);
        this.#serve(performance.now());
      },
    });
    this.#operated = options.operated ?? (() => {});
    this.#idleMs = options.idleMs ?? kIdleMs;
    this.#mostStdinBytes = mostStdinBytes ?? kMostStdinBytes;
    this.id = `${name}.${randomBytes(8).toString("hex")}`;
    this.#name = name;
    this.#pool = pool;
    this.#connection = connection;
    this.#places = places;
    const most = (tenant: string) => places.slotsOf?.(tenant);
    this.slots = new Slots(slots, most);
    const listen = () => this.#subscribe(freeSubject(pool, "*"), "free");
    const hasRoom = () => !this.#takesNone && this.slots.free(performance.now()) > 0;
    this.#door = new AvailabilitySubscription(listen, hasRoom);
    this.#outbox = new Outbox(this.id, (subject, message) => connection.publish(subject, message));
  }

  /** Finds out whether sandboxes can be made; call it before {@link start}. Never rejects. */
  check(): Promise<void> {
    return this.#fitness.check();
  }

  /** True while it takes no runs, though it may later. */
  get #takesNone(): boolean {
    return this.#fitness.unfit !== undefined || this.#cordonedBy !== undefined;
  }

  /** Subscribes; from here on its messages invite runs. The connection has to be open. */
  start(): void {
    this.#unsubscribe.push(
      this.#subscribe(workerSubject(this.#pool, this.id, "*")),
      this.#subscribe(wantSubject(this.#pool, "*"), "want"),
      answerOperators({
        connection: this.#connection,
        pool: this.#pool,
        name: this.#name,
        report: () => this.#report(),
        operate: (what, operator) => this.#operate(what, operator),
      }),
    );
    this.#door.look();
    this.#timer = setInterval(() => this.#tick(), kBeatMs);
  }

  #subscribe(subject: string, queue?: string): () => void {
    const receive = (message: Received) => this.#receive(message);
    return this.#connection.subscribe(subject, receive, queue);
  }

  #operate(what: Operation, operator: string): void {
    if (what === "drain") {
      this.#isDraining = true;
      this.#door.close();
    } else {
      this.#cordonedBy = what === "cordon" ? operator : undefined;
      this.#serve(performance.now());
    }
    this.#operated(what, operator);
  }

  #report(): WorkerReport {
    const { isDraining, cordonedBy, unfit, slots, running, waiting, starts } = this.state();
    const sum = (counts: Readonly<Record<string, number>>) =>
      Object.values(counts).reduce((all, each) => all + each, 0);
    return {
      process: lastOf(this.id),
      version: this.#version,
      isDraining,
      isCordoned: cordonedBy !== undefined,
      ...(unfit !== undefined && { unfit }),
      slots,
      running: sum(running),
      waiting: sum(waiting),
      starts,
      uptime: Math.round((performance.now() - this.#startedAt) / 1_000),
    };
  }

  /** Returns the worker's state for metrics. */
  state(): WorkerState {
    const { started: starts, declined, refused: refusals, outcomes } = this.counts;
    const { leasesLost, dropped: badFrames, excesses, bytesIn, bytesOut } = this.counts;
    const { isConnected, failure } = this.#connection;
    const running: Record<string, number> = {};
    for (const { tenant, runs } of this.#attachments) {
      if (runs.size > 0) running[tenant] = (running[tenant] ?? 0) + runs.size;
    }
    return {
      name: this.#name,
      pool: this.#pool,
      connection: failure ? "closed" : isConnected ? "connected" : "reconnecting",
      isDraining: this.#isDraining,
      cordonedBy: this.#cordonedBy,
      unfit: this.#fitness.unfit,
      canaryFailures: this.#fitness.canaryFailures,
      slots: this.slots.size,
      running,
      waiting: this.slots.waiting,
      starts,
      declines: declined.all(),
      refusals,
      outcomes: outcomes.all(),
      leasesLost,
      badFrames,
      excesses,
      bytesIn,
      bytesOut,
    };
  }

  /**
   * Accepts no more runs; resolves when all its runs have ended and their callers have confirmed the ends. Commands in
   * sessions and transactions that are open go on to be accepted.
   * @param openMs milliseconds after which these are ended, with the reason; a longer time than timers have counts as that
   */
  async drain(openMs = Number.POSITIVE_INFINITY): Promise<void> {
    this.#isDraining = true;
    this.#door.close();
    const end = () => {
      for (const { runs } of this.#attachments)
        for (const guest of runs.values()) guest.conclude(kDrained);
    };
    const timer = setTimeout(end, Math.min(openMs, kLongestTimerMs));
    timer.unref(); // a second signal ends the worker before
    await this.#emptied().finally(() => clearTimeout(timer));
  }

  async #emptied(): Promise<void> {
    const isEmpty = () =>
      [...this.#attachments].every(({ runs, ends }) => runs.size + ends.size === 0);
    while (!isEmpty()) {
      await new Promise<void>((resolve) => {
        this.#settled = resolve;
      });
    }
  }

  /** Aborts all runs, and does not wait for callers to confirm their ends. */
  async stop(): Promise<void> {
    this.#isDraining = true;
    const guests = [...this.#attachments].flatMap(({ runs }) => [...runs.values()]);
    for (const guest of guests) guest.drop();
    await Promise.all(guests.map(({ done }) => done));
    clearInterval(this.#timer);
    this.#fitness.close();
    for (const unsubscribe of this.#unsubscribe) unsubscribe();
    this.#door.close();
    this.#outbox.flush();
  }

  #receive({ subject, data }: Received): void {
    const tenant = lastOf(subject);
    if (!isToken(tenant)) return;
    let inbox = this.#inboxes.get(tenant);
    if (inbox === undefined) {
      if (this.#inboxes.size >= kMostTenants) {
        this.counts.dropped += 1;
        return;
      }
      inbox = new Inbox(kMostPartialBytes);
      this.#inboxes.set(tenant, inbox);
    }
    const take = ({ header, body, size }: Frame) => {
      this.counts.bytesIn += body.length;
      this.#handle(tenant, readToWorker(header), body, size);
    };
    inbox.receive(data, take, () => {
      this.counts.dropped += 1;
    });
  }

  #handle(tenant: string, message: ToWorker, body: Uint8Array, size: number): void {
    const now = performance.now();
    const { caller } = message;
    if (message.t === "want") {
      if (!this.#isDraining) this.slots.wants(tenant, caller, message.n, now);
      this.#serve(now);
      return;
    }
    const attachment = this.#attachments.of(tenant, caller, now);
    if (attachment === undefined) throw new WireError("its tenant has too many callers");
    attachment.heard(now);
    if (message.t === "grant") this.#grant(attachment, message, body, now);
    else if ("run" in message) this.#ofRun(attachment, message, body, size);
    else this.#ofCaller(attachment, message, now);
  }

  #ofCaller(attachment: Attachment, message: OfCaller, now: number): void {
    if (message.t === "none") {
      this.slots.unreserve(attachment);
      this.slots.wants(attachment.tenant, attachment.caller, 0, now);
      this.#serve(now);
    } else if (message.t === "echo") {
      attachment.echoed(message.at, now);
      attachment.echoSaidAt = Math.max(attachment.echoSaidAt, message.saidAt);
      attachment.received(message.receipts, message.at, now);
      for (const run of message.ended) attachment.forget(run);
      attachment.seen.settled(message.oldest);
      this.#settled();
    } else for (const guest of attachment.runs.values()) guest.drop();
  }

  #ofRun(attachment: Attachment, message: OfRun, body: Uint8Array, size: number): void {
    const guest = attachment.runs.get(message.run);
    if (message.t === "probe") this.#probe(attachment, message.run, message.attempt);
    else if (message.t === "abort") guest?.abort();
    else attachment.channels.get(message.run)?.receive(message, message, body, size);
  }

  /** Sends a message to a caller. Returns false if it is too long to be sent. */
  #say(attachment: Attachment, message: ToCaller, body?: Uint8Array): boolean {
    const { tenant, caller } = attachment;
    const subject = fromWorkerSubject(tenant, caller, this.#pool, this.id);
    return this.#outbox.send(subject, message, body);
  }

  #decline(to: Attachment, run: number, attempt: number, why: Declined): void {
    this.counts.declined.add(why);
    this.#say(to, { t: "decline", worker: this.id, run, attempt, why });
  }

  #grant(attachment: Attachment, grant: Grant, body: Uint8Array, now: number): void {
    const { run, attempt } = grant;
    const { seen } = attachment;
    seen.settled(grant.oldest);
    if (!seen.isNew(run, attempt)) return;
    const refused = this.#refusal(attachment, grant, now);
    if (refused !== undefined) {
      this.#decline(attachment, run, attempt, refused);
      return;
    }
    seen.started(run);
    this.counts.started += 1;
    const guest = hostRun(grant, body, {
      id: this.id,
      attachment,
      say: (message, bytes) => this.#say(attachment, message, bytes),
      find: (openPort) =>
        this.#places.find(attachment.tenant, grant.policy, grant.workspace, openPort),
      sends: (bytes) => {
        this.counts.bytesOut += bytes;
      },
      mostStdinBytes: this.#mostStdinBytes,
      idleMs: this.#idleMs,
      room: {
        mostSlots: this.slots.mostOf(attachment.tenant),
        isDraining: () => this.#isDraining,
      },
      excess: () => {
        this.counts.excesses += 1;
      },
    });
    void this.#follow(attachment, grant, guest);
    this.#door.look();
  }

  /** Returns the reason to decline a grant; undefined after taking a slot for it. */
  #refusal(attachment: Attachment, grant: Grant, now: number): Declined | undefined {
    if (this.#isDraining && grant.inside === undefined) return "draining";
    if (grant.lease !== attachment.leaseNumber || attachment.lease.expired) return "stale";
    if (attachment.owesReceipts) return "busy";
    if (grant.inside !== undefined) return undefined;
    if (this.#takesNone) return "unfit";
    this.slots.wants(attachment.tenant, attachment.caller, grant.waiting, now);
    return this.slots.take(attachment, now) ? undefined : "busy";
  }

  async #follow(attachment: Attachment, grant: Grant, guest: PendingGuest) {
    const end = await guest.done;
    const { run, attempt } = grant;
    attachment.runs.delete(run);
    if (grant.inside === undefined) this.slots.release(attachment);
    this.counts.ended(end.value, end.error);
    const isSetUp = setUpOf(end.value, end.error);
    if (isSetUp !== undefined) this.#fitness.ended(isSetUp);
    const reported = new ReportedEnd(end, { worker: this.id, pool: this.#pool, run, attempt });
    this.counts.bytesOut += reported.bytes;
    const say = () => {
      const free = this.#offered(attachment);
      const send = (message: ToCaller, body?: Uint8Array) => this.#say(attachment, message, body);
      reported.say(send, { free, lease: attachment.leaseNumber });
    };
    const now = performance.now();
    this.#serve(now);
    say();
    attachment.ended(run, { say, saidAt: now, bytes: reported.size });
  }

  /** Returns the number of slots that the caller may use without asking. */
  #offered(attachment: Attachment): number {
    if (this.#isDraining || this.#takesNone) return 0;
    attachment.invite();
    return this.slots.offered(attachment.tenant, performance.now());
  }

  #probe(attachment: Attachment, run: number, attempt: number): void {
    if (attachment.runs.has(run)) return; // the next beat lists it
    const end = attachment.ends.get(run);
    end?.say();
    if (end !== undefined) return;
    // The grant may still be in transit.
    if (attachment.seen.refuse(run, attempt)) this.#decline(attachment, run, attempt, "unknown");
  }

  #serve(now: number): void {
    if (this.#isDraining) return;
    if (this.#takesNone) {
      this.#door.look();
      return;
    }
    this.slots.serve(now, (tenant, caller, n) => {
      const attachment = this.#attachments.of(tenant, caller, now);
      if (attachment === undefined) return undefined;
      attachment.invite();
      const { leaseNumber: lease } = attachment;
      this.#say(attachment, { t: "pull", worker: this.id, pool: this.#pool, n, lease });
      return attachment;
    });
    this.#door.look();
  }

  #tick(): void {
    const now = performance.now();
    for (const attachment of this.#attachments) {
      this.#keep(attachment, now);
      if (attachment.isForgotten(now)) this.#attachments.forget(attachment);
    }
    this.#serve(now);
    this.#settled();
  }

  #keep(attachment: Attachment, now: number): void {
    const { runs, ends, lease } = attachment;
    if (lease.expired && runs.size > 0) {
      if (attachment.isFirstLook()) this.counts.leasesLost += 1;
      for (const guest of runs.values()) guest.drop(); // its launcher has already killed the command
    }
    if (attachment.isForgotten(now)) for (const run of [...ends.keys()]) attachment.forget(run);
    if (!this.#connection.isConnected || !attachment.isBeaten(now)) return;
    this.#say(attachment, {
      t: "beat",
      worker: this.id,
      pool: this.#pool,
      at: now,
      heard: attachment.echoSaidAt,
      receipts: attachment.receipts(),
      runs: [...runs.keys()],
      free: this.#offered(attachment),
      lease: attachment.leaseNumber,
    });
    for (const end of ends.values()) {
      if (now - end.saidAt < kAgainMs) continue;
      end.saidAt = now;
      end.say();
    }
  }
}

/** A worker's report about itself: current values, and counts since its start. */

/** State of the broker's connection. "closed" is final. */
export type BrokerConnectionState = "connected" | "reconnecting" | "closed";

/** A snapshot of a worker as plain data; each call makes a new one. */
export type WorkerState = {
  /** The worker's name, and the pool it serves. */
  name: string;
  pool: string;
  connection: BrokerConnectionState;
  /** True if it accepts no more runs, and exits when the current ones have ended. */
  isDraining: boolean;
  /** The operator who has it take no runs; undefined while nobody has. */
  cordonedBy: string | undefined;
  /** Why it can make no sandbox; undefined while it can. */
  unfit: string | undefined;
  /** Canaries that have failed. */
  canaryFailures: number;
  /** Most concurrent runs. */
  slots: number;
  /** Current runs, by tenant. */
  running: Readonly<Record<string, number>>;
  /** Callers that wait for a slot, by tenant. */
  waiting: Readonly<Record<string, number>>;
  /** Commands started. */
  starts: number;
  /** Declined grants by reason, such as "busy" or "draining". */
  declines: Readonly<Record<string, number>>;
  /** Runs refused by the policy. */
  refusals: number;
  /** Ended runs by `outcome.kind`. */
  outcomes: Readonly<Record<string, number>>;
  /** Callers' leases that expired in silence. */
  leasesLost: number;
  /** Malformed frames dropped. */
  badFrames: number;
  /** Runs dropped since their callers sent more than they may, or confirmed nothing. */
  excesses: number;
  /** Bytes of input received and of output sent over the broker. */
  bytesIn: number;
  bytesOut: number;
};

/** Counts by name. */
class Tally {
  readonly #counts = new Map<string, number>();

  add(name: string): void {
    this.#counts.set(name, (this.#counts.get(name) ?? 0) + 1);
  }

  all(): Record<string, number> {
    return Object.fromEntries(this.#counts);
  }
}

/** Counters of a worker since its start; they only grow. */
class WorkerCounts {
  /** Grants that were started. */
  started = 0;
  /** Declined grants, by reason. */
  readonly declined = new Tally();
  /** Calls rejected: malformed, or beyond the policy. */
  refused = 0;
  /** Malformed messages dropped. */
  dropped = 0;
  /** Runs dropped since their callers sent more than they may, or confirmed nothing. */
  excesses = 0;
  /** Leases that expired while runs held them. */
  leasesLost = 0;
  /** Bytes of input received and of output sent. */
  bytesIn = 0;
  bytesOut = 0;
  /** Ended runs, by outcome. */
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

/** Milliseconds for which a worker has to be full before it unsubscribes; short bursts do not count. */
const kFullMs = 20;

/** Keeps the subscription to "free" messages open while the worker has slots, so that callers find it. */
class AvailabilitySubscription {
  readonly #open: () => () => void;
  readonly #hasRoom: () => boolean;
  #close: (() => void) | undefined;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #isOver = false;

  /** @param open subscribes, and returns the function that unsubscribes */
  constructor(open: () => () => void, hasRoom: () => boolean) {
    this.#open = open;
    this.#hasRoom = hasRoom;
  }

  /** Opens or closes the subscription after slots may have changed. */
  look(): void {
    if (this.#isOver) return;
    if (this.#hasRoom()) {
      clearTimeout(this.#timer);
      this.#timer = undefined;
      this.#close ??= this.#open();
    } else if (this.#close !== undefined) {
      this.#timer ??= setTimeout(() => this.#shut(), kFullMs);
    }
  }

  /** Closes the subscription for good. */
  close(): void {
    this.#isOver = true;
    clearTimeout(this.#timer);
    this.#close?.();
    this.#close = undefined;
  }

  #shut(): void {
    this.#timer = undefined;
    if (this.#hasRoom()) return;
    this.#close?.();
    this.#close = undefined;
  }
}
