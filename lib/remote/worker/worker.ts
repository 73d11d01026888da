/**
 * A worker: invites runs of a pool while it has slots, starts what it is granted, each at most once, and tells how it
 * ended until that is confirmed. Belongs to one JavaScript thread.
 */

import { randomBytes } from "node:crypto";

import type { Connection, Received } from "../broker/connection.js";
import { isToken } from "../token.js";
import { type Frame, WireError } from "../wire/frame.js";
import { Inbox } from "../wire/inbox.js";
import { readToWorker, type ToCaller, type ToWorker } from "../wire/messages.js";
import { Outbox } from "../wire/outbox.js";
import {
  callerSubject,
  freeSubject,
  lastOf,
  wantSubject,
  workerSubject,
} from "../wire/subjects.js";
import type { Attachment } from "./attachment.js";
import { Attachments } from "./attachments.js";
import { FreeDoor } from "./free-door.js";
import type { PendingGuest } from "./guests/guest-for.js";
import { hostRun } from "./hosted-run.js";
import type { Places } from "./places.js";
import { Slots } from "./slots.js";
import { ToldEnd } from "./told-end.js";
import { WorkerCounts } from "./worker-counts.js";
import type { WorkerState } from "./worker-state.js";

const kBeatMs = 500;
/** An end is said again after so long without its receipt. */
const kAgainMs = 1_000;

/** Options of {@link Worker}. */
export type WorkerOptions = {
  connection: Connection;
  pool: string;
  name: string;
  slots: number;
  places: Places;
};

type Grant = Extract<ToWorker, { t: "grant" }>;
type OfRun = Exclude<Extract<ToWorker, { run: number }>, Grant>;
type OfCaller = Exclude<ToWorker, Grant | OfRun | { t: "want" }>;
type Declined = Extract<ToCaller, { t: "decline" }>["why"];

export class Worker {
  /** Its name and the number of its process. */
  readonly id: string;
  readonly counts = new WorkerCounts();
  readonly slots: Slots;
  readonly #name: string;
  readonly #pool: string;
  readonly #connection: Connection;
  readonly #places: Places;
  readonly #outbox: Outbox;
  readonly #inboxes = new Map<string, Inbox>();
  readonly #attachments = new Attachments();
  readonly #unsubscribe: (() => void)[] = [];
  readonly #door: FreeDoor;
  #isDraining = false;
  #timer: ReturnType<typeof setInterval> | undefined;
  #settled = () => {};

  constructor({ connection, pool, name, slots, places }: WorkerOptions) {
    this.id = `${name}.${randomBytes(8).toString("hex")}`;
    this.#name = name;
    this.#pool = pool;
    this.#connection = connection;
    this.#places = places;
    const most = (tenant: string) => places.slotsOf?.(tenant);
    this.slots = new Slots(slots, () => this.#attachments, most);
    const listen = () => this.#subscribe(freeSubject(pool, "*"), "free");
    this.#door = new FreeDoor(listen, () => this.slots.free(performance.now()) > 0);
    this.#outbox = new Outbox(this.id, (subject, message) => connection.publish(subject, message));
  }

  /** Subscribes; what it says from here on invites runs. The connection has to be there. */
  start(): void {
    this.#unsubscribe.push(
      this.#subscribe(workerSubject(this.id, "*")),
      this.#subscribe(wantSubject(this.#pool, "*"), "want"),
    );
    this.#door.look();
    this.#timer = setInterval(() => this.#tick(), kBeatMs);
  }

  #subscribe(subject: string, queue?: string): () => void {
    const receive = (message: Received) => this.#receive(message);
    return this.#connection.subscribe(subject, receive, queue);
  }

  /** What it tells of itself. */
  state(): WorkerState {
    const { started: starts, declined, refused: refusals, outcomes } = this.counts;
    const { leasesLost, dropped: badFrames, bytesIn, bytesOut } = this.counts;
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
      slots: this.slots.size,
      running,
      waiting: this.slots.waiting,
      starts,
      declines: declined.all(),
      refusals,
      outcomes: outcomes.all(),
      leasesLost,
      badFrames,
      bytesIn,
      bytesOut,
    };
  }

  /** Takes no more runs, and resolves when those that it has have ended and their callers know. */
  async drain(): Promise<void> {
    this.#isDraining = true;
    this.#door.close();
    const isEmpty = () =>
      [...this.#attachments].every(({ runs, ends }) => runs.size + ends.size === 0);
    while (!isEmpty()) {
      await new Promise<void>((resolve) => {
        this.#settled = resolve;
      });
    }
  }

  /** Ends all that it runs, without waiting for anybody to hear of it. */
  async stop(): Promise<void> {
    this.#isDraining = true;
    const guests = [...this.#attachments].flatMap(({ runs }) => [...runs.values()]);
    for (const guest of guests) guest.drop();
    await Promise.all(guests.map(({ done }) => done));
    clearInterval(this.#timer);
    for (const unsubscribe of this.#unsubscribe) unsubscribe();
    this.#door.close();
    this.#outbox.flush();
  }

  #receive({ subject, data }: Received): void {
    const tenant = lastOf(subject);
    if (!isToken(tenant)) return;
    let inbox = this.#inboxes.get(tenant);
    if (inbox === undefined) {
      inbox = new Inbox();
      this.#inboxes.set(tenant, inbox);
    }
    const take = ({ header, body }: Frame) => {
      this.counts.bytesIn += body.length;
      this.#handle(tenant, readToWorker(header), body);
    };
    inbox.receive(data, take, () => {
      this.counts.dropped += 1;
    });
  }

  #handle(tenant: string, message: ToWorker, body: Uint8Array): void {
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
    else if ("run" in message) this.#ofRun(attachment, message, body);
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

  #ofRun(attachment: Attachment, message: OfRun, body: Uint8Array): void {
    const guest = attachment.runs.get(message.run);
    if (message.t === "probe") this.#probe(attachment, message.run, message.attempt);
    else if (message.t === "abort") guest?.abort();
    else attachment.channels.get(message.run)?.receive(message, message, body);
  }

  /** False: it is too long to be sent. */
  #say(attachment: Attachment, message: ToCaller, body?: Uint8Array): boolean {
    return this.#outbox.send(callerSubject(attachment.tenant, attachment.caller), message, body);
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
    });
    void this.#follow(attachment, grant, guest);
    this.#door.look();
  }

  /** Why it is not started; else it has its slot. */
  #refusal(attachment: Attachment, grant: Grant, now: number): Declined | undefined {
    if (this.#isDraining) return "draining";
    if (grant.lease !== attachment.leaseNumber || attachment.lease.expired) return "stale";
    if (grant.inside !== undefined) return undefined;
    this.slots.wants(attachment.tenant, attachment.caller, grant.waiting, now);
    return this.slots.take(attachment, now) ? undefined : "busy";
  }

  async #follow(attachment: Attachment, grant: Grant, guest: PendingGuest) {
    const end = await guest.done;
    const { run, attempt } = grant;
    attachment.runs.delete(run);
    if (grant.inside === undefined) this.slots.release(attachment);
    this.counts.ended(end.value, end.error);
    const told = new ToldEnd(end, { worker: this.id, pool: this.#pool, run, attempt });
    this.counts.bytesOut += told.bytes;
    const say = () => {
      const free = this.#offered(attachment);
      const send = (message: ToCaller, body?: Uint8Array) => this.#say(attachment, message, body);
      told.say(send, { free, lease: attachment.leaseNumber });
    };
    const now = performance.now();
    this.#serve(now);
    say();
    attachment.ends.set(run, { say, saidAt: now });
  }

  /** Slots that the caller may use without asking. */
  #offered(attachment: Attachment): number {
    if (this.#isDraining) return 0;
    attachment.invite();
    return this.slots.offered(attachment.tenant, performance.now());
  }

  #probe(attachment: Attachment, run: number, attempt: number): void {
    if (attachment.runs.has(run)) return; // the next beat says so
    const end = attachment.ends.get(run);
    end?.say();
    if (end !== undefined) return;
    attachment.seen.refuse(run, attempt); // whatever is still on its way
    this.#decline(attachment, run, attempt, "unknown");
  }

  #serve(now: number): void {
    if (this.#isDraining) return;
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
      for (const guest of runs.values()) guest.drop(); // its launcher has killed each by now
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
