import type { Connection } from "../broker/connection.js";
import type { RemoteRun } from "./remote-run.js";

/**
 * Milliseconds of silence after which a run is lost. A worker accepts an echo as a sign of life until it is 2 s old,
 * and its launchers end their commands 4 s after the last one: 6 s after the last echo that this caller sent, nothing
 * runs.
 */
const kLostMs = 6_500;
/** The bound while this process has no connection: messages that arrive with the next one may still bring the end. */
const kLostApartMs = 30_000;
/** After a pause this long, messages that arrived meanwhile are read before a run counts as lost. */
const kPauseMs = 1_500;
const kAfterPauseMs = 2_500;
const kProbeMs = 1_000;

/** The action to take on a granted run. */
export type Verdict = "wait" | "probe" | "lost";

/** Decides when a run is lost. Times are of `performance.now()`. Pure. */
export class Watch {
  #tickedAt = 0;
  #patientUntil = 0;
  #apartSince: number | undefined;

  /** Starts the clock at the first run: this process may be stopped before the first tick. */
  begin(now: number): void {
    this.#tickedAt = now;
  }

  /** Called often while runs exist; detects that this process was stopped meanwhile. */
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

/** A caller's view of one worker. Times are of `performance.now()`. */
export class Link {
  readonly worker: string;
  readonly pool: string;
  /** Slots that the worker last reported as free, less those used since. */
  free = 0;
  /** The lease under which the worker takes grants. */
  lease = 0;
  heardAt = 0;
  /** Time of the last echo to the worker; it ends its runs some seconds after the last one. */
  echoedAt = 0;
  /** Runs whose ends have arrived, and have not yet been acknowledged to the worker. */
  ended: number[] = [];
  /** Runs that it was granted, and that have not ended. */
  readonly runs = new Set<RemoteRun>();

  constructor(worker: string, pool: string) {
    this.worker = worker;
    this.pool = pool;
  }
}

const kTickMs = 50;

/**
 * Checks the runs of a caller while it has any, and keeps the process alive while code waits for one of them. An open
 * session or transaction alone keeps no process alive, as on one machine.
 */
export class KeepAlive {
  readonly #connection: Connection;
  readonly #look: () => void;
  readonly #awaited = new Set<object>();
  #timer: ReturnType<typeof setInterval> | undefined;

  /** @param look called often between {@link begin} and {@link rest} */
  constructor(connection: Connection, look: () => void) {
    this.#connection = connection;
    this.#look = look;
  }

  /** Starts the checks, and uses the connection. */
  begin(): void {
    this.#connection.use();
    this.#timer = setInterval(this.#look, kTickMs);
    if (this.#awaited.size === 0) this.#timer.unref();
  }

  /** Stops the checks when no runs remain. */
  rest(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
    this.#connection.unuse();
  }

  /** Keeps the process alive for `what`. */
  await(what: object): void {
    if (this.#awaited.has(what)) return;
    this.#awaited.add(what);
    if (this.#awaited.size > 1) return;
    this.#timer?.ref();
    this.#connection.hold();
  }

  /** Lets the process end, once nothing else is waited for. */
  unawait(what: object): void {
    if (!this.#awaited.delete(what) || this.#awaited.size > 0) return;
    this.#timer?.unref();
    this.#connection.release();
  }
}
