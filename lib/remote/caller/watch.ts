import type { Connection } from "../broker/connection.js";
import type { RemoteRun } from "./remote-run.js";

/**
 * A worker takes an echo for a sign of life that is up to 2 s old, and its launchers end what runs 4 s after the last:
 * 6 s after an echo was sent nothing runs any more of which this caller has not heard since.
 */
const kLostMs = 6_500;
/** While we ourselves have no connection, what comes with the next one may still tell how it ended. */
const kLostApartMs = 30_000;
/** What has come while this process was stopped has to be read first. */
const kPauseMs = 1_500;
const kAfterPauseMs = 2_500;
const kProbeMs = 1_000;

/** What is to be done about a run that was granted. */
export type Verdict = "wait" | "probe" | "lost";

/** Says when a run is lost. Times are of `performance.now()`. Pure. */
export class Watch {
  #tickedAt = 0;
  #patientUntil = 0;
  #apartSince: number | undefined;

  /** There are runs from here on: this process may be stopped before the first tick. */
  begin(now: number): void {
    this.#tickedAt = now;
  }

  /** Called often while there are runs; sees when this process was stopped meanwhile. */
  tick(now: number): void {
    if (now - this.#tickedAt > kPauseMs) this.#bePatient(now);
    this.#tickedAt = now;
  }

  connected(now: number): void {
    this.#apartSince = undefined;
    this.#bePatient(now);
  }

  disconnected(now: number): void {
    this.#apartSince ??= now;
  }

  judge(run: RemoteRun, link: Link | undefined, now: number): Verdict {
    const silence = now - Math.max(run.grantedAt, link?.echoedAt ?? 0);
    const bound = this.#apartSince === undefined ? kLostMs : kLostApartMs;
    if (silence > bound && now > this.#patientUntil) return "lost";
    const isUnheard = now - run.listedAt > kProbeMs;
    return isUnheard && now - run.probedAt > kProbeMs ? "probe" : "wait";
  }

  #bePatient(now: number): void {
    this.#patientUntil = now + kAfterPauseMs;
  }
}

/** What a caller knows of one worker. Times are of `performance.now()`. */
export class Link {
  readonly worker: string;
  readonly pool: string;
  /** Slots that it had when it last said so, less those that were used since. */
  free = 0;
  /** The lease under which it takes grants. */
  lease = 0;
  heardAt = 0;
  /** When it was last told that this caller lives; it ends what it runs some seconds after that. */
  echoedAt = 0;
  /** Runs whose ends have come, and that it was not told so yet. */
  ended: number[] = [];

  constructor(worker: string, pool: string) {
    this.worker = worker;
    this.pool = pool;
  }
}

const kTickMs = 50;

/**
 * A caller looks at its runs while it has any; and while somebody waits for one of them the process goes on for it.
 * A session or a transaction that is only open keeps no process, as on one machine.
 */
export class KeepAlive {
  readonly #connection: Connection;
  readonly #look: () => void;
  readonly #awaited = new Set<object>();
  #timer: ReturnType<typeof setInterval> | undefined;

  /** @param look is called often between {@link begin} and {@link rest}. */
  constructor(connection: Connection, look: () => void) {
    this.#connection = connection;
    this.#look = look;
  }

  /** There are runs. */
  begin(): void {
    this.#connection.use();
    this.#timer = setInterval(this.#look, kTickMs);
    if (this.#awaited.size === 0) this.#timer.unref();
  }

  /** There are none. */
  rest(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
    this.#connection.unuse();
  }

  /** Somebody waits for it, whatever it is. */
  await(what: object): void {
    if (this.#awaited.has(what)) return;
    this.#awaited.add(what);
    if (this.#awaited.size > 1) return;
    this.#timer?.ref();
    this.#connection.hold();
  }

  /** Nobody does. */
  unawait(what: object): void {
    if (!this.#awaited.delete(what) || this.#awaited.size > 0) return;
    this.#timer?.unref();
    this.#connection.release();
  }
}
