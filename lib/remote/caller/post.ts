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

/** A worker, and the pool that it serves, as its messages prove them. */
export type WorkerAddress = { readonly worker: string; readonly pool: string };

/** Sends the messages of a caller to workers. */
export class Post {
  /** The grants in each message that was sent. */
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

  toWorker({ worker, pool }: WorkerAddress, message: ToWorker, body?: Uint8Array): void {
    const tenant = this.#tenant;
    const gone = () =>
      `${goneSubject(tenant, this.#caller, worker)}.${this.deliveries.send(worker)}`;
    this.#outbox.send(workerSubject(pool, worker, tenant), message, body, gone);
  }

  /**
   * Announces waiting runs to one worker of the pool that has a free slot; the broker replies when no worker is free.
   */
  toFree(pool: string, n: number): void {
    const nobody = () => nobodySubject(this.#tenant, this.#caller, pool);
    const want = { t: "want", caller: this.#caller, n } as const;
    this.#outbox.send(freeSubject(pool, this.#tenant), want, undefined, nobody);
  }

  /** Asks any one worker of the pool to remember that runs wait. */
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
 * Records which grants each message to a worker holds. When the broker reports that a message reached no worker, none
 * of its grants was started, and all may be granted to other workers. Pure.
 */
export class Deliveries {
  readonly #waiting = new Map<string, Granted[]>();
  readonly #sent = new Map<number, Granted[]>();
  #messages = 0;

  /** Adds a grant to the next message to the worker. */
  add(worker: string, run: number, attempt: number): void {
    const granted = this.#waiting.get(worker);
    if (granted === undefined) this.#waiting.set(worker, [{ run, attempt }]);
    else granted.push({ run, attempt });
  }

  /** Records that the next message to the worker is sent. Returns its number, or 0 if it holds no grants. */
  send(worker: string): number {
    const granted = this.#waiting.get(worker);
    if (granted === undefined) return 0;
    this.#waiting.delete(worker);
    const number = ++this.#messages;
    this.#sent.set(number, granted);
    this.#sent.delete(number - kMostKept); // a message not reported after so many later ones was delivered
    return number;
  }

  /** Returns the grants of a message that reached no worker, and forgets them. */
  undelivered(number: number): readonly Granted[] {
    const granted = this.#sent.get(number) ?? [];
    this.#sent.delete(number);
    return granted;
  }
}
