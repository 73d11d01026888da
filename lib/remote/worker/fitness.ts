/**
 * Whether a worker can make sandboxes at all. A canary, a sandbox under the worker's own policy, is the judge: runs that
 * fail may do so because of what their callers have asked. Without it a worker that fails fast would draw the runs of a
 * whole pool to itself. Belongs to one JavaScript thread.
 */

/** Failed set-ups in a row after which the canary is asked. */
const kSuspicious = 2;
/** Milliseconds between canaries while they succeed, so that callers whose set-ups fail can't cause many. */
const kCalmMs = 5_000;
const kFirstAgainMs = 1_000;
const kLastAgainMs = 60_000;

/** The parts that a {@link Fitness} is made of. */
export type FitnessOptions = {
  /**
   * Makes a sandbox.
   * @throws (rejects) an Error with the reason if there can be none
   */
  canary(): Promise<void>;
  /** Called when {@link Fitness.unfit} has changed. */
  changed(): void;
};

export class Fitness {
  readonly #options: FitnessOptions;
  #unfit: string | undefined;
  #failures = 0;
  #again = kFirstAgainMs;
  #askedAt = Number.NEGATIVE_INFINITY;
  #asking: Promise<void> | undefined;
  #timer: ReturnType<typeof setTimeout> | undefined;
  /** True from enough failures on until the canary is asked. */
  #isSuspected = false;
  #isClosed = false;
  /** Number of canaries that have failed. */
  canaryFailures = 0;

  constructor(options: FitnessOptions) {
    this.#options = options;
  }

  /** Why the worker takes no runs; undefined while it can make sandboxes. */
  get unfit(): string | undefined {
    return this.#unfit;
  }

  /** Asks the canary, at the worker's start. Never rejects. */
  check(): Promise<void> {
    this.#asking ??= this.#ask().finally(() => {
      this.#asking = undefined;
    });
    return this.#asking;
  }

  /** Records whether the sandbox of a run could be made. */
  ended(isSetUp: boolean): void {
    this.#failures = isSetUp ? 0 : this.#failures + 1;
    if (this.#failures < kSuspicious || this.#unfit !== undefined || this.#isSuspected) return;
    this.#isSuspected = true;
    const calmMs = this.#askedAt + kCalmMs - performance.now();
    if (calmMs > 0) this.#timer = setTimeout(() => void this.check(), calmMs);
    else void this.check();
  }

  close(): void {
    this.#isClosed = true;
    clearTimeout(this.#timer);
  }

  async #ask(): Promise<void> {
    this.#askedAt = performance.now();
    this.#failures = 0;
    this.#isSuspected = false;
    const reason = await this.#options.canary().then(
      () => undefined,
      (error: unknown) => (error instanceof Error ? error.message : String(error)),
    );
    if (this.#isClosed) return;
    const isChanged = (reason === undefined) !== (this.#unfit === undefined);
    this.#unfit = reason;
    if (reason === undefined) this.#again = kFirstAgainMs;
    else {
      this.canaryFailures += 1;
      this.#timer = setTimeout(() => void this.check(), this.#again);
      this.#again = Math.min(kLastAgainMs, 2 * this.#again);
    }
    if (isChanged) this.#options.changed();
  }
}

/** Returns whether the sandbox of an ended run was made; undefined where its end does not tell. Pure. */
export function setUpOf(
  value: unknown,
  error: { code?: string | undefined } | undefined,
): boolean | undefined {
  if (error !== undefined) {
    const isOfSandbox =
      error.code === "ERR_SANDBOX_SETUP" || error.code === "ERR_SANDBOX_UNAVAILABLE";
    return isOfSandbox ? false : undefined;
  }
  const one: unknown = Array.isArray(value) ? value[0] : value;
  const kind = (one as { outcome?: { kind?: unknown } } | null | undefined)?.outcome?.kind;
  return typeof kind === "string" ? kind !== "setup-failed" : undefined;
}
