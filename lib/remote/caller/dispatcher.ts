import type { ToCaller, ToWorker } from "../wire/messages.js";
import type { Post } from "./post.js";
import { kInputWithGrant, type RemoteRun } from "./remote-run.js";
import { RunQueue } from "./run-queue.js";
import { Link } from "./watch.js";

/** A worker silent for this long is removed: by then it has lost all state of this caller. */
const kForgottenMs = 60_000;

/** The name of a worker, which stays the same when its process restarts. */
export const nameOfWorker = (worker: string) => worker.slice(0, worker.indexOf("."));

/** The interface of the caller that the dispatcher uses. */
export type DispatcherHost = {
  readonly id: string;
  isConnected(): boolean;
  /** Returns the lowest number of a run that is not settled. */
  oldest(): number;
};

/** Grants waiting runs to workers. A run goes to one worker, and to another only after the first has not started it. */
export class Dispatcher {
  readonly #host: DispatcherHost;
  readonly #post: Post;
  readonly #pools = new Map<string, Pool>();
  readonly #links = new Map<string, Link>();

  constructor(host: DispatcherHost, post: Post) {
    this.#host = host;
    this.#post = post;
  }

  /** Returns the state of a worker, if this caller knows that worker. */
  link(worker: string | undefined): Link | undefined {
    return worker === undefined ? undefined : this.#links.get(worker);
  }

  get links(): Iterable<Link> {
    return this.#links.values();
  }

  /** Records the state that a worker has just sent. */
  heard(worker: string, pool: string, said: Partial<Link>, now: number): Link {
    let link = this.#links.get(worker);
    if (link === undefined) {
      for (const { worker: other, heardAt } of this.#links.values()) {
        if (now - heardAt > kForgottenMs) this.#links.delete(other);
      }
      link = new Link(worker, pool);
      this.#links.set(worker, link);
    }
    return Object.assign(link, said, { heardAt: now });
  }

  /** Marks a worker that a message has not reached: it gets no runs until it reports free slots. */
  unreached(worker: string): void {
    const link = this.#links.get(worker);
    if (link) link.free = 0;
  }

  /** Puts a run in the queue of its pool, in the order of run numbers. */
  enqueue(run: RemoteRun, now: number): void {
    const pool = this.#pool(run.request.pool);
    pool.queue.add(run);
    if (run.attempt > 0) pool.moved();
    this.dispatch(pool.name, now);
  }

  /** Removes a run from its queue. */
  remove(run: RemoteRun): void {
    this.#pool(run.request.pool).queue.remove(run);
  }

  /** Announces all waiting runs again after the connection was restored. */
  connected(now: number): void {
    for (const pool of this.#pools.values()) {
      pool.moved();
      this.dispatch(pool.name, now);
    }
  }

  dispatchAll(now: number): void {
    for (const name of this.#pools.keys()) this.dispatch(name, now);
  }

  /** Grants waiting runs to workers with free slots, and announces the rest to the pool. */
  dispatch(name: string, now: number): void {
    const pool = this.#pool(name);
    if (!this.#host.isConnected()) return;
    while (pool.queue.size > 0) {
      const link = pool.freest(this.#links.values(), now);
      if (link === undefined) break;
      const run = pool.take(link);
      if (run) this.grant(run, link, pool.queue.size, now);
    }
    if (pool.isToSay(now)) this.#post.toFree(name, pool.queue.size);
  }

  /** Grants runs to a worker that asks for some. */
  pulled({ worker, pool: name, n, lease }: Extract<ToCaller, { t: "pull" }>, now: number): void {
    const link = this.heard(worker, name, { lease }, now);
    const pool = this.#pool(name);
    pool.moved();
    for (let given = 0; given < n; given += 1) {
      const run = pool.take(link);
      if (run === undefined) {
        this.#post.toWorker(link, { t: "none", caller: this.#host.id });
        break;
      }
      this.grant(run, link, pool.queue.size, now);
    }
  }

  /** Asks one worker of a pool to remember that runs wait: no worker of the pool is free, or none exists. */
  nobodyFree(name: string): void {
    const waiting = this.#pools.get(name)?.queue.size ?? 0;
    if (waiting > 0) this.#post.toAny(name, waiting);
  }

  grant(run: RemoteRun, link: Link, waiting: number, now: number): void {
    link.free = Math.max(0, link.free - 1);
    run.granted(link.worker, now);
    link.runs.add(run);
    const { number, attempt, request } = run;
    const { kind, policy, workspace, input, stdin, isLive, credit, inside } = request;
    const isShort = stdin !== undefined && stdin.length <= kInputWithGrant;
    this.#post.deliveries.add(link.worker, number, attempt);
    const grant: ToWorker = {
      t: "grant",
      caller: this.#host.id,
      run: number,
      attempt,
      kind,
      policy,
      workspace,
      input,
      isLive,
      credit,
      lease: link.lease,
      oldest: this.#host.oldest(),
      waiting,
      ...(inside !== undefined && { inside: inside.number }),
      ...(stdin !== undefined && { stdinBytes: stdin.length }),
    };
    this.#post.toWorker(link, grant, isShort ? stdin : undefined);
  }

  #pool(name: string): Pool {
    let pool = this.#pools.get(name);
    if (pool === undefined) {
      pool = new Pool(name);
      this.#pools.set(name, pool);
    }
    return pool;
  }
}

/** A worker silent for this long gets no runs without asking for them. */
const kFreshMs = 1_500;
const kFirstAgainMs = 50;
const kLastAgainMs = 400;

/** The runs of one pool that wait for a slot, and the interval at which they are announced to workers. */
class Pool {
  readonly name: string;
  readonly queue = new RunQueue();
  #saidAt = Number.NEGATIVE_INFINITY;
  #againMs = kFirstAgainMs;

  constructor(name: string) {
    this.name = name;
  }

  /** Returns the worker with the most free slots among those heard of recently for which a run waits. */
  freest(links: Iterable<Link>, now: number): Link | undefined {
    let best: Link | undefined;
    for (const link of links) {
      if (link.pool !== this.name || link.free <= (best?.free ?? 0)) continue;
      const isFresh = now - link.heardAt <= kFreshMs;
      if (isFresh && this.queue.firstFor(nameOfWorker(link.worker)) !== undefined) best = link;
    }
    return best;
  }

  /** Takes the first run that the worker can run. */
  take(link: Link): RemoteRun | undefined {
    const run = this.queue.firstFor(nameOfWorker(link.worker));
    if (run !== undefined) this.queue.remove(run);
    return run;
  }

  /** Resets the announcement interval after a change. */
  moved(): void {
    this.#againMs = kFirstAgainMs;
    if (this.queue.size === 0) this.#saidAt = Number.NEGATIVE_INFINITY;
  }

  /** True if it is time to announce that runs wait. The interval grows with each announcement. */
  isToSay(now: number): boolean {
    if (this.queue.size === 0 || now - this.#saidAt < this.#againMs) return false;
    if (this.#saidAt !== Number.NEGATIVE_INFINITY) {
      this.#againMs = Math.min(kLastAgainMs, this.#againMs * 2);
    }
    this.#saidAt = now;
    return true;
  }
}
