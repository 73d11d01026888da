import { createHistogram, type RecordableHistogram } from "node:perf_hooks";

import type { PhaseMetrics } from "../../types/metrics.js";

const kMicrosecondsPerMs = 1000;
const kDayUs = 24 * 3600 * 1e6;

/** Times that are kept as they are: most runners are made for a few runs, and never asked. */
const kFew = 32;

/**
 * How long one part of the runs took. The mean and the longest are exact; percentiles come of a
 * histogram of some 30 KiB, made when there are many times, or when somebody asks.
 */
export class PhaseTimes {
  #recentUs: number[] = [];
  #histogram: RecordableHistogram | undefined;
  #count = 0;
  #sumUs = 0;
  #maxUs = 0;

  /** A run's time; 0 where it did not come to this part, which then does not count. */
  record(ms: number): void {
    if (ms === 0) return;
    const us = Math.max(1, Math.round(ms * kMicrosecondsPerMs));
    this.#count += 1;
    this.#sumUs += us;
    if (us > this.#maxUs) this.#maxUs = us;
    if (this.#recentUs.push(Math.min(us, kDayUs)) >= kFew) this.#fold();
  }

  summary(): PhaseMetrics {
    const { count, maxUs } = { count: this.#count, maxUs: this.#maxUs };
    if (count === 0) return { count, meanMs: 0, maxMs: 0, p50Ms: 0, p95Ms: 0, p99Ms: 0 };
    const histogram = this.#fold();
    // The end of a bucket may lie beyond all that is in it.
    const percentile = (rank: number) =>
      Math.min(histogram.percentile(rank), maxUs) / kMicrosecondsPerMs;
    return {
      count,
      meanMs: this.#sumUs / count / kMicrosecondsPerMs,
      maxMs: maxUs / kMicrosecondsPerMs,
      p50Ms: percentile(50),
      p95Ms: percentile(95),
      p99Ms: percentile(99),
    };
  }

  #fold(): RecordableHistogram {
    this.#histogram ??= createHistogram({ lowest: 1, highest: kDayUs, figures: 2 });
    for (const us of this.#recentUs) this.#histogram.record(us);
    this.#recentUs = [];
    return this.#histogram;
  }
}
