import type { Connection } from "../broker/connection.js";
import type { ToWorker } from "../wire/messages.js";
import { Outbox } from "../wire/outbox.js";
import {
  freeSubject,
  goneSubject,
  nobodySubject,
  wantSubject,
  workerSubject,
} from "../wire/subjects.js";
import { Deliveries } from "./deliveries.js";

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
