import type { Link } from "./link.js";
import type { RemoteRun } from "./remote-run.js";

/** A worker that was silent for so long is asked before it is given a run. */
const kFreshMs = 1_500;
const kFirstAgainMs = 50;
const kLastAgainMs = 400;

/** The runs of one pool that wait for a slot, and how often others are told that they do. */
export class Pool {
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
