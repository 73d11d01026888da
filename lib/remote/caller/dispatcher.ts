import type { ToCaller, ToWorker } from "../wire/messages.js";
import type { Post } from "./post.js";
import { kInputWithGrant, type RemoteRun } from "./remote-run.js";
import { Link } from "./watch.js";

/** A worker that was silent for so long is not known any more: all that it had of us is lost by then. */
const kForgottenMs = 60_000;

/** What the dispatcher asks its caller. */
export type DispatcherHost = {
  readonly id: string;
  isConnected(): boolean;
  /** The lowest number of a run that is not settled. */
  oldest(): number;
};

/** Gives runs that wait to workers: each to one, until that has said that it has not started it. */
export class Dispatcher {
  readonly #host: DispatcherHost;
  readonly #post: Post;
  readonly #pools = new Map<string, Pool>();
  readonly #links = new Map<string, Link>();

  constructor(host: DispatcherHost, post: Post) {
    this.#host = host;
    this.#post = post;
  }

  /** A worker that this caller knows. */
  link(worker: string | undefined): Link | undefined {
    return worker === undefined ? undefined : this.#links.get(worker);
  }

  get links(): Iterable<Link> {
    return this.#links.values();
  }

  /** What a worker has just said of itself. */
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

  /** What was sent to it has reached nobody: it gets no runs until it says that it has room. */
  unreached(worker: string): void {
    const link = this.#links.get(worker);
    if (link) link.free = 0;
  }

  /** It waits, before those that were asked for later. */
  enqueue(run: RemoteRun, now: number): void {
    const pool = this.#pool(run.request.pool);
    const after = pool.queue.findIndex(({ number }) => number > run.number);
    pool.queue.splice(after < 0 ? pool.queue.length : after, 0, run);
    if (run.attempt > 0) pool.moved();
    this.dispatch(pool.name, now);
  }

  /** It waits no more. */
  remove(run: RemoteRun): void {
    const { queue } = this.#pool(run.request.pool);
    const at = queue.indexOf(run);
    if (at >= 0) queue.splice(at, 1);
  }

  /** There is a connection, after a time without one: all is said anew. */
  connected(now: number): void {
    for (const pool of this.#pools.values()) {
      pool.moved();
      this.dispatch(pool.name, now);
    }
  }

  dispatchAll(now: number): void {
    for (const name of this.#pools.keys()) this.dispatch(name, now);
  }

  /** Gives what waits to workers that have room, and tells others that more waits. */
  dispatch(name: string, now: number): void {
    const pool = this.#pool(name);
    if (!this.#host.isConnected()) return;
    while (pool.queue.length > 0) {
      const link = pool.freest(this.#links.values(), now);
      if (link === undefined) break;
      const run = pool.take(link);
      if (run) this.grant(run, link, pool.queue.length, now);
    }
    if (pool.isToSay(now)) this.#post.toFree(name, pool.queue.length);
  }

  /** A worker asks for runs. */
  pulled({ worker, pool: name, n, lease }: Extract<ToCaller, { t: "pull" }>, now: number): void {
    const link = this.heard(worker, name, { lease }, now);
    const pool = this.#pool(name);
    pool.moved();
    for (let given = 0; given < n; given += 1) {
      const run = pool.take(link);
      if (run === undefined) {
        this.#post.toWorker(worker, { t: "none", caller: this.#host.id });
        break;
      }
      this.grant(run, link, pool.queue.length, now);
    }
  }

  /** All workers of the pool are full, or there is none: one of them is to remember that we wait. */
  nobodyFree(name: string): void {
    const waiting = this.#pools.get(name)?.queue.length ?? 0;
    if (waiting > 0) this.#post.toAny(name, waiting);
  }

  grant(run: RemoteRun, link: Link, waiting: number, now: number): void {
    link.free = Math.max(0, link.free - 1);
    run.granted(link.worker, now);
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
    this.#post.toWorker(link.worker, grant, isShort ? stdin : undefined);
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

/** A worker that was silent for so long is asked before it is given a run. */
const kFreshMs = 1_500;
const kFirstAgainMs = 50;
const kLastAgainMs = 400;

/** The runs of one pool that wait for a slot, and how often others are told that they do. */
class Pool {
  readonly name: string;
  readonly queue: RemoteRun[] = [];
  #saidAt = Number.NEGATIVE_INFINITY;
  #againMs = kFirstAgainMs;

  constructor(name: string) {
    this.name = name;
  }

  /** The worker with the most free slots of those that were heard of just now, and that something waits for. */
  freest(links: Iterable<Link>, now: number): Link | undefined {
    let best: Link | undefined;
    for (const link of links) {
      if (link.pool !== this.name || link.free <= (best?.free ?? 0)) continue;
      if (now - link.heardAt <= kFreshMs && this.#firstFor(link) >= 0) best = link;
    }
    return best;
  }

  /** Takes the first that the worker can have. */
  take(link: Link): RemoteRun | undefined {
    const at = this.#firstFor(link);
    return at < 0 ? undefined : this.queue.splice(at, 1)[0];
  }

  #firstFor({ worker }: Link): number {
    return this.queue.findIndex(
      ({ request: { onWorker } }) => onWorker === undefined || worker.startsWith(`${onWorker}.`),
    );
  }

  /** Something has moved: the next time that runs wait is told at once. */
  moved(): void {
    this.#againMs = kFirstAgainMs;
    if (this.queue.length === 0) this.#saidAt = Number.NEGATIVE_INFINITY;
  }

  /** Whether it is time to tell that runs wait. It is told less and less often. */
  isToSay(now: number): boolean {
    if (this.queue.length === 0 || now - this.#saidAt < this.#againMs) return false;
    if (this.#saidAt !== Number.NEGATIVE_INFINITY) {
      this.#againMs = Math.min(kLastAgainMs, this.#againMs * 2);
    }
    this.#saidAt = now;
    return true;
  }
}
