/**
 * How a run's time was spent, in milliseconds. The parts follow one another without gaps; a part that the run
 * did not reach is 0.
 */
export type RunTiming = {
  /** From the call of `exec` until a slot was free (`maxConcurrent`). */
  queueMs: number;
  /** From then, when `timeoutMs` begins to count, until the command starts. */
  setupMs: number;
  /** From then until the command ended by itself, or its end was requested. */
  commandMs: number;
  /** From then until all processes that it left are known to be gone. */
  teardownMs: number;
};

/**
 * Set if processes had to be killed: by a deadline, a lease or an abort, or because the command left them
 * behind. "proved": all are known to be gone. "unproved": a process could not be signalled, or no process
 * remained that could report it; this happens only without a pid namespace.
 */
export type KillProof = "proved" | "unproved";
