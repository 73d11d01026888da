/**
 * Where a run's time went, in milliseconds. The parts follow one another without a gap; 0: it did not
 * come to that.
 */
export type RunTiming = {
  /** From the call of `exec` until the run's turn came (`maxConcurrent`). */
  queueMs: number;
  /** From there, where `timeoutMs` begins to count, until the command starts. */
  setupMs: number;
  /** Until the command ended by itself, or its end was asked for. */
  commandMs: number;
  /** Until everything that it left is known to be gone. */
  teardownMs: number;
};

/**
 * Processes had to be killed: by a deadline, a lease or an abort, or since the command left them behind.
 * "proved": all are known to be gone. "unproved": one could not be signalled, or nobody was left to
 * tell, which only happens without a pid namespace.
 */
export type KillProof = "proved" | "unproved";
