import type { Connection } from "../broker/connection.js";
import {
  freeSubject,
  goneSubject,
  nobodySubject,
  wantSubject,
  workerSubject,
} from "../subjects.js";
import { Outbox } from "../wire/frame.js";
import type { ToWorker } from "../wire/messages.js";

/** What a caller says to workers. */
export class Post {
  /** Which grants are in which message. */
  readonly deliveries = new Deliveries();
  readonly #caller: string;
  readonly #tenant: string;
  readonly #outbox: Outbox;

  constructor(connection: Connection, tenant: string, caller: string) {
    this.#caller = caller;
    this.#tenant = tenant;
    this.#outbox = new Outbox(caller, (subject, message, reply) =>
      connection.publish(subject, message, reply),
    );
  }

  toWorker(worker: string, message: ToWorker, body?: Uint8Array): void {
    const tenant = this.#tenant;
    const gone = () =>
      `${goneSubject(tenant, this.#caller, worker)}.${this.deliveries.send(worker)}`;
    this.#outbox.send(workerSubject(worker, tenant), message, body, gone);
  }

  /** To a worker of the pool that has a free slot; the broker says so where there is none. */
  toFree(pool: string, n: number): void {
    const nobody = () => nobodySubject(this.#tenant, this.#caller, pool);
    const want = { t: "want", caller: this.#caller, n } as const;
    this.#outbox.send(freeSubject(pool, this.#tenant), want, undefined, nobody);
  }

  /** To any worker of the pool, which is to remember it. */
  toAny(pool: string, n: number): void {
    const want = { t: "want", caller: this.#caller, n } as const;
    this.#outbox.send(wantSubject(pool, this.#tenant), want);
  }

  flush(): void {
    this.#outbox.flush();
  }
}

type Granted = { run: number; attempt: number };

const kMostKept = 4_096;

/**
 * Which grants are in which message to a worker. The broker says of a message that it has reached nobody: then none of
 * these was started, and all may be granted to others. Pure.
 */
export class Deliveries {
  readonly #waiting = new Map<string, Granted[]>();
  readonly #sent = new Map<number, Granted[]>();
  #messages = 0;

  /** A grant that goes with the next message to the worker. */
  add(worker: string, run: number, attempt: number): void {
    const granted = this.#waiting.get(worker);
    if (granted === undefined) this.#waiting.set(worker, [{ run, attempt }]);
    else granted.push({ run, attempt });
  }

  /** A message goes now. Gives the number by which it is told of; 0 where nothing depends on it. */
  send(worker: string): number {
    const granted = this.#waiting.get(worker);
    if (granted === undefined) return 0;
    this.#waiting.delete(worker);
    const number = ++this.#messages;
    this.#sent.set(number, granted);
    this.#sent.delete(number - kMostKept); // what is not reported of after so many was delivered
    return number;
  }

  /** It has reached nobody. */
  undelivered(number: number): readonly Granted[] {
    const granted = this.#sent.get(number) ?? [];
    this.#sent.delete(number);
    return granted;
  }
}
