/**
 * Callers of this Node environment: one for each combination of broker, credentials and tenant, shared by all runners.
 */

import { randomBytes } from "node:crypto";

import type { RemoteQueue } from "../../../types/remote/runner-options.js";
import { SandboxError } from "../../errors.js";
import { BrokerAccess, type BrokerOptions } from "../broker/broker-access.js";
import { Connection, type Received } from "../broker/connection.js";
import { callerRefusal, type Refused } from "../broker/refused.js";
import { behindCaller, callerSubject } from "../subjects.js";
import { type Frame, Inbox, WireError } from "../wire/frame.js";
import { readToCaller, type ToCaller } from "../wire/messages.js";
import { errorOf, fromPlain, toPlain } from "../wire/plain.js";
import { callTimeoutOf, overdue } from "./deadline.js";
import { Dispatcher } from "./dispatcher.js";
import { Post, type WorkerAddress } from "./post.js";
import {
  RemoteRun,
  type RunEnd,
  type RunListener,
  type RunRequest,
  type SayToWorker,
  type WorkerMessage,
  whyOver,
} from "./remote-run.js";
import { KeepAlive, type Link, Watch } from "./watch.js";

type Shared = { caller: Caller; connection: Connection; users: number };

/** Shared callers by the options they were made with. The last runner to release one closes it. */
const shared = new Map<string, Shared>();

/** Access of one runner to a shared caller. */
export type HeldCaller = {
  caller(): Caller;
  /** The caller, if it was used before. */
  used(): Caller | undefined;
  release(): Promise<void>;
};

/**
 * Returns access to the caller for a tenant at a broker; the caller is made on first use.
 * @throws TypeError on a wrong option
 */
export function holdCaller(options: BrokerOptions, tenant: string): HeldCaller {
  const access = new BrokerAccess(options);
  const { servers, credentials, tls, insecure } = options;
  const key = JSON.stringify([servers, credentials, tls, insecure, tenant]);
  let own: Shared | undefined;
  let isReleased = false;
  return {
    caller: () => {
      if (own === undefined) {
        own = shared.get(key) ?? make(access, tenant);
        if (own.connection.failure !== undefined) own = make(access, tenant); // the old connection failed: connect anew
        own.users += 1;
        shared.set(key, own);
      }
      return own.caller;
    },
    used: () => own?.caller,
    release: async () => {
      if (own === undefined || isReleased) return;
      isReleased = true;
      own.users -= 1;
      if (own.users > 0) return;
      if (shared.get(key) === own) shared.delete(key);
      await own.caller.close();
    },
  };
}

function make(access: BrokerAccess, tenant: string): Shared {
  const connection = new Connection(access);
  return { connection, caller: new Caller(connection, tenant), users: 0 };
}

type Said<T extends ToCaller["t"]> = Extract<ToCaller, { t: T }>;
const closed = (message: string) => new SandboxError(message, { code: "ERR_SANDBOX_CLOSED" });

/** Returns the error for what was asked for in, or beside, a session or transaction that has ended. */
function isOver({ request: { kind }, settled }: RemoteRun): SandboxError {
  const why = settled === undefined ? "its worker is no longer heard of" : whyOver(settled);
  return closed(`the ${kind} has ended: ${why}`);
}

/**
 * Keeps the runs that wait, grants each to one worker that asks for it or has a free slot, and settles each exactly
 * once. Only the caller decides which worker starts a run; the broker only carries messages. One exists for each
 * connection and tenant, for any number of runners. Belongs to one JavaScript thread.
 */
export class Caller {
  readonly id = randomBytes(12).toString("hex");
  readonly tenant: string;
  readonly #connection: Connection;
  readonly #post: Post;
  readonly #dispatcher: Dispatcher;
  readonly #inbox = new Inbox();
  readonly #runs = new Map<number, RemoteRun>();
  readonly #watch = new Watch();
  readonly #keepAlive: KeepAlive;
  #numbers = 0;
  /** All runs up to this number are settled. */
  #settled = 0;
  /** Set while the broker refuses the subscription without which nothing is heard. */
  #refusal: Error | undefined;
  /** Number of malformed messages dropped. */
  dropped = 0;

  constructor(connection: Connection, tenant: string) {
    this.tenant = tenant;
    this.#connection = connection;
    this.#post = new Post(connection, tenant, this.id);
    this.#keepAlive = new KeepAlive(connection, () => this.#tick());
    const isConnected = () => connection.isConnected;
    const host = { id: this.id, isConnected, oldest: () => this.#oldest() };
    this.#dispatcher = new Dispatcher(host, this.#post);
    connection.listen({
      connected: (isNew) => this.#connected(isNew),
      disconnected: () => this.#watch.disconnected(performance.now()),
      failed: (error) => this.#failed(error),
      refused: (refused) => this.#refused(refused),
    });
    void connection.open();
  }

  /** Requests a run, which waits until a worker has a free slot. */
  run(request: RunRequest, listener: RunListener): RemoteRun {
    const now = performance.now();
    const run = new RemoteRun(++this.#numbers, request, listener, now, this.#say);
    const failure = this.#connection.failure ?? this.#refusal ?? this.#besideNothing(request);
    if (failure !== undefined) {
      run.settle({ kind: "failed", error: failure });
      return run;
    }
    if (this.#runs.size === 0) {
      this.#watch.begin(now);
      this.#keepAlive.begin();
    }
    this.#runs.set(run.number, run);
    this.#keepAlive.await(run);
    if (request.inside !== undefined) this.#grantInside(run, request.inside, now);
    else this.#dispatcher.enqueue(run, now);
    return run;
  }

  /** Number of runs that are not settled. */
  get pending(): number {
    return this.#runs.size;
  }

  /** Returns what waits for a slot of a pool, and what its workers have. */
  queueOf(pool: string): RemoteQueue {
    const now = performance.now();
    const isConnected = this.#connection.isConnected;
    const queue = { waiting: 0, longestWaitMs: 0, granted: 0, isConnected };
    for (const { request, worker, askedAt } of this.#runs.values()) {
      if (request.pool !== pool) continue;
      if (worker !== undefined) queue.granted += 1;
      else {
        queue.waiting += 1;
        queue.longestWaitMs = Math.max(queue.longestWaitMs, now - askedAt);
      }
    }
    return queue;
  }

  /** Aborts a run. A run that still waits ends at once. */
  abort(run: RemoteRun): void {
    if (!this.#runs.has(run.number)) return;
    if (!run.isAborted) run.abortedAt = performance.now();
    run.isAborted = true;
    void this.ended(run);
    const to = addressOf(run);
    if (to === undefined) this.#settle(run, { kind: "aborted" });
    else this.#sayAbort(to, run.number);
  }

  /** Returns the end of a run, and keeps the process alive until then. */
  ended(run: RemoteRun): Promise<RunEnd> {
    run.isAwaited = true;
    if (this.#runs.has(run.number)) this.#keepAlive.await(run);
    return run.end;
  }

  /** Sends a message within a run. Does nothing when the run has ended or was not granted. */
  tell(run: RemoteRun, message: WorkerMessage, body?: Uint8Array): void {
    if (run.worker !== undefined && this.#runs.has(run.number)) run.tell(message, body);
  }

  /**
   * Calls an operation of a run on its worker.
   * @param ms milliseconds after which it counts as unanswered
   * @throws (rejects) what the worker throws; SandboxError when the run has ended before, or the worker does not answer
   */
  async call(
    run: RemoteRun,
    operation: string,
    args: readonly unknown[],
    ms = callTimeoutOf(args),
  ): Promise<unknown> {
    const plain = args.map((each, index) =>
      each === undefined ? null : toPlain(each, `${operation}[${index}]`),
    );
    if (run.worker === undefined || !this.#runs.has(run.number)) throw closed("it has ended");
    this.#keepAlive.await(plain);
    let timer: ReturnType<typeof setTimeout> | undefined;
    let isLate = false;
    const late = new Promise<undefined>((resolve) => {
      timer = setTimeout(() => {
        isLate = true;
        resolve(undefined);
      }, ms);
      timer.unref(); // `#keepAlive` keeps the process alive
    });
    const answer = await run.call(operation, plain, late).finally(() => {
      clearTimeout(timer);
      this.#keepAlive.unawait(plain);
    });
    if (answer === undefined && isLate) {
      const message = `${operation}: the worker ${run.worker} has not answered within ${ms} ms`;
      throw new SandboxError(message, { code: "ERR_SANDBOX_UNAVAILABLE" });
    }
    if (answer === undefined) throw closed("it has ended");
    if (answer.error) throw errorOf(answer.error);
    return fromPlain(answer.value);
  }

  /** Sends `bye` to the workers, and closes the connection. */
  async close(): Promise<void> {
    for (const link of this.#dispatcher.links) {
      this.#post.toWorker(link, { t: "bye", caller: this.id });
    }
    this.#post.flush();
    await this.#connection.close();
  }

  #rest(): void {
    this.#sayEnds();
    this.#keepAlive.rest();
  }

  #connected(isNew: boolean): void {
    const now = performance.now();
    this.#watch.connected(now);
    if (isNew || this.#refusal !== undefined) this.#subscribe();
    this.#refusal = undefined;
    this.#dispatcher.connected(now);
  }

  #subscribe(): void {
    const receive = (message: Received) => this.#receive(message);
    this.#connection.subscribe(`${callerSubject(this.tenant, this.id)}.>`, receive);
  }

  #failed(error: Error): void {
    for (const run of [...this.#runs.values()]) this.#settle(run, { kind: "failed", error });
  }

  /** Fails the runs that can't be had by the broker's permissions. */
  #refused(refused: Refused): void {
    const { error, pool } = callerRefusal(refused, this.tenant);
    if (pool === undefined) this.#refusal = error;
    for (const run of [...this.#runs.values()]) {
      if (pool === undefined || run.request.pool === pool) {
        this.#settle(run, { kind: "failed", error });
      }
    }
  }

  #settle(run: RemoteRun, end: RunEnd): void {
    if (run.worker === undefined) this.#dispatcher.remove(run);
    run.settle(end);
    this.#forget(run);
  }

  /** Removes a settled run. */
  #forget(run: RemoteRun): void {
    this.#keepAlive.unawait(run);
    this.#dispatcher.link(run.worker)?.runs.delete(run);
    if (this.#runs.delete(run.number) && this.#runs.size === 0) this.#rest();
  }

  /** Grants a run inside a session or a transaction: only the worker of that one can run it. */
  #grantInside(run: RemoteRun, inside: RemoteRun, now: number): void {
    const link = this.#dispatcher.link(inside.worker);
    if (link !== undefined && this.#runs.has(inside.number)) {
      this.#dispatcher.grant(run, link, 0, now);
    } else this.#settleLostInside(run, inside);
  }

  /** Returns the error for what was to begin as a session or transaction that has ended. */
  #besideNothing({ beside }: RunRequest): Error | undefined {
    if (beside === undefined || this.#runs.has(beside.number)) return undefined;
    return isOver(beside);
  }

  #settleLostInside(run: RemoteRun, inside: RemoteRun): void {
    this.#settle(run, { kind: "failed", error: isOver(inside) });
  }

  #oldest(): number {
    // Not the first key: a map with many deleted ones takes long to find it.
    while (this.#settled < this.#numbers && !this.#runs.has(this.#settled + 1)) this.#settled += 1;
    return this.#settled + 1;
  }

  #receive({ subject, data, isNobody }: Received): void {
    const [what, ...parts] = behindCaller(subject);
    if (what === "none" && isNobody) this.#dispatcher.nobodyFree(parts[0] ?? "");
    if (what === "gone" && isNobody) this.#undelivered(Number(parts.at(-1)));
    if (what !== "w") return;
    const [pool = "", ...worker] = parts;
    const sender = { pool, worker: worker.join(".") };
    const take = ({ header, body }: Frame) => {
      const message = readToCaller(header);
      expectFrom(sender, message);
      this.#handle(message, body);
    };
    const refused = () => {
      this.dropped += 1;
    };
    this.#inbox.receive(data, take, refused, subject);
  }

  #undelivered(message: number): void {
    const now = performance.now();
    for (const { run: number, attempt } of this.#post.deliveries.undelivered(message)) {
      const run = this.#runs.get(number);
      if (run === undefined || run.attempt !== attempt || run.isConfirmed) continue;
      if (run.worker !== undefined) this.#dispatcher.unreached(run.worker);
      this.#return(run, now);
    }
  }

  /**
   * Makes a run wait again that its worker has not started. If that worker has reported on it all the same, the run is
   * lost: its command may be running, and what was reported would count as the next worker's.
   */
  #return(run: RemoteRun, now: number): void {
    if (run.channel.isUsed && !run.isAborted) {
      const reason = `its worker ${run.worker} reported on it, and then that it was not started`;
      this.#settle(run, { kind: "lost", started: run.started, ended: "unproved", reason });
      return;
    }
    this.#dispatcher.link(run.worker)?.runs.delete(run);
    run.returned();
    if (run.isAborted) this.#settle(run, { kind: "aborted" });
    else if (run.request.inside !== undefined) this.#settleLostInside(run, run.request.inside);
    else this.#dispatcher.enqueue(run, now);
  }

  #handle(message: ToCaller, body: Uint8Array): void {
    const now = performance.now();
    switch (message.t) {
      case "pull":
        this.#dispatcher.pulled(message, now);
        break;
      case "beat":
        this.#beat(message, now);
        break;
      case "end":
        this.#end(message, body, now);
        break;
      case "decline":
        this.#declined(message, now);
        break;
      default: {
        const run = this.#ofWorker(message);
        if (run === undefined) break;
        run.listedAt = now;
        run.channel.receive(message, message, body);
        if (run.isOnlyOpen) this.#keepAlive.unawait(run);
      }
    }
  }

  /** Returns the run that a worker names, if it was granted to that worker. */
  #ofWorker({ run: number, worker }: { run: number; worker: string }): RemoteRun | undefined {
    const run = this.#runs.get(number);
    return run?.worker === worker ? run : undefined;
  }

  readonly #say: SayToWorker = (run, message, body) => {
    const to = addressOf(run);
    if (to !== undefined) {
      this.#post.toWorker(to, { ...message, caller: this.id, run: run.number }, body);
    }
  };

  #sayAbort(to: WorkerAddress, run: number): void {
    this.#post.toWorker(to, { t: "abort", caller: this.id, run });
  }

  #beat(beat: Said<"beat">, now: number): void {
    const { worker, pool, free, lease } = beat;
    const link = this.#dispatcher.heard(worker, pool, { free, lease, echoedAt: now }, now);
    for (const number of beat.runs) {
      const run = this.#ofWorker({ run: number, worker });
      if (run) {
        run.isConfirmed = true;
        run.listedAt = now;
      }
      // This caller no longer knows the run, or the earlier abort may have been lost.
      if (run === undefined || run.isAborted) this.#sayAbort(link, number);
    }
    for (const [run, ack] of beat.receipts) {
      const channel = this.#ofWorker({ run, worker })?.channel;
      channel?.confirmed(ack);
      channel?.repeat(beat.heard, now);
    }
    this.#echo(link, beat.at, now);
    this.#dispatcher.dispatch(pool, now);
  }

  #end(message: Said<"end">, body: Uint8Array, now: number): void {
    const { worker, pool, free, lease } = message;
    const link = this.#dispatcher.heard(worker, pool, { free, lease }, now);
    const run = this.#ofWorker(message);
    if (run) {
      run.listedAt = now;
      run.isConfirmed = true;
    }
    if (run === undefined || run.ended(message, body)) {
      link.ended.push(message.run);
      if (run) this.#forget(run);
    }
    this.#dispatcher.dispatch(pool, now);
  }

  #declined(message: Said<"decline">, now: number): void {
    const run = this.#ofWorker(message);
    if (run === undefined || message.attempt !== run.attempt) return;
    const link = this.#dispatcher.link(run.worker);
    if (link) link.free = 0;
    if (message.why === "unknown" && run.isConfirmed) {
      const reason = "its worker does not know it any more";
      this.#settle(run, { kind: "lost", started: run.started, ended: "proved", reason });
    } else if (message.why === "draining" && run.request.beside !== undefined) {
      const error = new SandboxError("its worker is being shut down", {
        code: "ERR_SANDBOX_UNAVAILABLE",
      });
      this.#settle(run, { kind: "failed", error });
    } else this.#return(run, now);
  }

  #tick(): void {
    const now = performance.now();
    this.#watch.tick(now);
    for (const run of [...this.#runs.values()]) {
      if (run.worker === undefined) this.#lookAtWaiting(run, now);
      else this.#lookAtGranted(run, now);
    }
    this.#dispatcher.dispatchAll(now);
  }

  #lookAtWaiting(run: RemoteRun, now: number): void {
    if (now - run.askedAt <= run.request.queueTimeoutMs) return;
    this.#settle(run, queueTimeout(run.request, this.#connection.isConnected));
  }

  #lookAtGranted(run: RemoteRun, now: number): void {
    const { started, attempt } = run;
    const to = addressOf(run);
    if (to === undefined) return;
    const { worker } = to;
    const verdict = this.#watch.judge(run, this.#dispatcher.link(worker), now);
    if (verdict === "lost") {
      const reason = `nothing was heard of its worker ${worker} any more`;
      this.#settle(run, { kind: "lost", started, ended: "unproved", reason });
      return;
    }
    const why = overdue(run, now);
    if (why !== undefined) {
      this.#sayAbort(to, run.number);
      const reason = `its worker ${worker} gives signs of life, and does not end it, ${why}`;
      this.#settle(run, { kind: "lost", started, ended: "unproved", reason });
    } else if (verdict === "probe" && this.#connection.isConnected) {
      run.probedAt = now;
      if (run.isAborted) this.#sayAbort(to, run.number);
      this.#post.toWorker(to, { t: "probe", caller: this.id, run: run.number, attempt });
    }
  }

  #echo(link: Link, at: number, now: number): void {
    const receipts: [number, number][] = [];
    for (const { number, channel } of link.runs) receipts.push([number, channel.heard]);
    const ended = link.ended.splice(0);
    const reported = { at, saidAt: now, receipts, ended, oldest: this.#oldest() };
    this.#post.toWorker(link, { t: "echo", caller: this.id, ...reported });
  }

  /** Sends receipts for ended runs at once, without waiting for a beat, when no runs remain. */
  #sayEnds(): void {
    const no = Number.MAX_SAFE_INTEGER; // matches no beat, so it renews nothing
    for (const link of this.#dispatcher.links) {
      if (link.ended.length > 0) this.#echo(link, no, performance.now());
    }
  }
}

/** Returns the worker that a run was granted to. */
function addressOf({ worker, request }: RemoteRun): WorkerAddress | undefined {
  return worker === undefined ? undefined : { worker, pool: request.pool };
}

/**
 * Asserts that a message names the worker and the pool of its subject, which the broker has checked.
 * @throws WireError
 */
function expectFrom(sender: WorkerAddress, message: ToCaller): void {
  const isOwn = !("pool" in message) || message.pool === sender.pool;
  if (isOwn && message.worker === sender.worker) return;
  throw new WireError("a worker speaks for another one, or for another pool");
}

/** Returns the end of a run that waited longer than its `queueTimeoutMs`. Pure. */

function queueTimeout(
  { pool, queueTimeoutMs, onWorker }: Pick<RunRequest, "pool" | "queueTimeoutMs" | "onWorker">,
  isConnected: boolean,
): RunEnd {
  const who = onWorker === undefined ? "no worker" : `no worker "${onWorker}"`;
  const reason = isConnected
    ? `${who} of the pool "${pool}" had a free slot within ${queueTimeoutMs} ms`
    : `there was no connection to the broker within ${queueTimeoutMs} ms`;
  return { kind: "queue-timeout", reason };
}
