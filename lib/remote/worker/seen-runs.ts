type Seen = { attempt: number; isStarted: boolean };

/**
 * Which grants of a caller have come: one that comes again, or after a later one, is not obeyed. So a run is started
 * here once at most, whatever the way makes of messages. Numbers of runs grow; all below `oldest` are settled. Pure.
 */
export class SeenRuns {
  readonly #runs = new Map<number, Seen>();
  #oldest = 0;

  /** Whether it has not come before, and may be started. */
  isNew(run: number, attempt: number): boolean {
    const seen = this.#runs.get(run);
    if (run < this.#oldest || seen?.isStarted) return false;
    if (seen !== undefined && seen.attempt >= attempt) return false;
    this.#runs.set(run, { attempt, isStarted: false });
    return true;
  }

  /** It is started, and will never be again. */
  started(run: number): void {
    const seen = this.#runs.get(run);
    if (seen) seen.isStarted = true;
  }

  /** Its caller was told that this attempt, and those before, will never be started. */
  refuse(run: number, attempt: number): void {
    const seen = this.#runs.get(run) ?? { attempt, isStarted: false };
    seen.attempt = Math.max(seen.attempt, attempt);
    this.#runs.set(run, seen);
  }

  /** Nothing that is still on its way can start one of those that are settled. */
  settled(oldest: number): void {
    if (oldest <= this.#oldest) return;
    this.#oldest = oldest;
    for (const run of this.#runs.keys()) if (run < oldest) this.#runs.delete(run);
  }
}
