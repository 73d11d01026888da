/** A caller by hand: says to real workers, over a real broker, what no caller of ours would. */

import { BrokerAccess } from "../../../../lib/remote/broker/broker-access.js";
import { Connection } from "../../../../lib/remote/broker/connection.js";
import { callerSubject, wantSubject, workerSubject } from "../../../../lib/remote/subjects.js";
import { Inbox, Outbox } from "../../../../lib/remote/wire/frame.js";
import {
  readToCaller,
  type ToCaller,
  type ToWorker,
} from "../../../../lib/remote/wire/messages.js";
import { framesOf } from "../../../support/remote/frames-of.js";
import { eventually } from "../../../support/waits.js";

const kTenant = "default";
let callers = 0;

type Said<T extends ToCaller["t"]> = Extract<ToCaller, { t: T }>;
type Grant = Extract<ToWorker, { t: "grant" }>;

export class HandCaller {
  readonly id = `hand${process.pid}-${++callers}`;
  readonly heard: ToCaller[] = [];
  readonly #connection: Connection;
  readonly #outbox: Outbox;
  readonly #inbox = new Inbox();
  #pool = "tests";

  private constructor(url: string) {
    this.#connection = new Connection(new BrokerAccess({ servers: [url], insecure: true }));
    this.#outbox = new Outbox(this.id, (subject, message) =>
      this.#connection.publish(subject, message),
    );
  }

  static async open(url: string): Promise<HandCaller> {
    const caller = new HandCaller(url);
    caller.#connection.hold();
    await caller.#connection.open();
    caller.#connection.subscribe(`${callerSubject(kTenant, caller.id)}.w.>`, ({ data }) => {
      for (const { header } of framesOf(caller.#inbox, data))
        caller.heard.push(readToCaller(header));
    });
    return caller;
  }

  /** What of one kind has come. */
  all<T extends ToCaller["t"]>(t: T): Said<T>[] {
    return this.heard.filter((each): each is Said<T> => each.t === t);
  }

  /** Asks for slots, and waits until a worker says that it has some. */
  async invited(n: number, pool = "tests"): Promise<Said<"pull">> {
    this.#pool = pool;
    const before = this.all("pull").length;
    this.#outbox.send(wantSubject(pool, kTenant), { t: "want", caller: this.id, n } as ToWorker);
    await eventually("invited", () => this.all("pull").length > before);
    return this.all("pull")[before] as Said<"pull">;
  }

  say(worker: string, message: ToWorker): void {
    this.#outbox.send(workerSubject(this.#pool, worker, kTenant), message);
  }

  /** Bytes that may be anything. */
  throw(worker: string, bytes: Uint8Array): void {
    this.#connection.publish(workerSubject(this.#pool, worker, kTenant), bytes);
  }

  grant(run: number, attempt: number, more: Partial<Grant>): Grant {
    return {
      ...{ t: "grant", caller: this.id, run, attempt, kind: "exec", isLive: false, policy: {} },
      ...{ credit: 1024, lease: 0, oldest: 0, waiting: 0 },
      ...more,
    };
  }

  /** As callers do: nothing is kept for them, and what they have is confirmed. */
  echo(worker: string, beat: Said<"beat">, ended: number[]): void {
    const rest = { saidAt: performance.now(), receipts: [], ended, oldest: 0 };
    this.say(worker, { t: "echo", caller: this.id, at: beat.at, ...rest });
  }

  async close(): Promise<void> {
    await this.#connection.close();
    this.#connection.release();
  }
}
