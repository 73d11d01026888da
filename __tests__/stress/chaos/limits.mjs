// The bounds of a run of chaos: what it waits for is a state, and these say when that is in vain.

/** Deadline of a command that ends by itself: never the first cause, unless something holds it up. */
export const kPatienceMs = 20_000;

/** How long what must go may take to be gone, on a loaded machine; and where faults are planted. */
export const kGoneMs = 30_000;
export const kPlantedGoneMs = 2000;

/**
 * How long a host may take to end and to begin, and to be asked to finish all its calls without one
 * of them settling: how many there are, and how quick the machine is, is nobody's fault.
 */
export const kAnswerMs = 60_000;
export const kPlantedAnswerMs = 3000;

/** What a host's resident set may grow by between its first checkpoint and a later one. */
export const kGrowthBytes = 96 * 2 ** 20;

/** Threads that the package keeps for its next look at files: kMostIdle in file_threads.cpp. */
export const kIdleThreads = 2;

/** A memory limit of commands, and what those try to use. */
export const kMemoryLimitBytes = 64 * 2 ** 20;
export const kEatenBytes = 256 * 2 ** 20;
