import type { Link } from "./link.js";
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
