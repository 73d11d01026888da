/** Times of one part of the runs: exact where they can be, percentiles to within 1 %. */

import { describe, expect, it } from "vitest";

import { PhaseTimes } from "../../lib/metrics/run-metrics.js";

function timesOf(...all: number[]): PhaseTimes {
  const times = new PhaseTimes();
  for (const ms of all) times.record(ms);
  return times;
}

describe("times", () => {
  it("are all 0 where there are none", () => {
    const none = { count: 0, meanMs: 0, maxMs: 0, p50Ms: 0, p95Ms: 0, p99Ms: 0 };
    expect(new PhaseTimes().summary()).toEqual(none);
    expect(timesOf(0, 0).summary()).toEqual(none);
  });

  it("of one run are that run's", () => {
    const one = { count: 1, meanMs: 7.125, maxMs: 7.125, p50Ms: 7.125, p95Ms: 7.125, p99Ms: 7.125 };
    expect(timesOf(7.125).summary()).toEqual(one);
  });

  it("count only runs that came to it", () => {
    expect(timesOf(0, 4, 0, 2).summary()).toMatchObject({ count: 2, meanMs: 3, maxMs: 4 });
  });

  it.each([
    ["few", 20],
    ["as many as are kept", 32],
    ["many", 5000],
  ])("of %s runs have percentiles to within 1 %%", (_name, count) => {
    const all = Array.from({ length: count }, (_, at) => 0.5 + at * 0.37);
    const summary = timesOf(...all.toReversed()).summary();
    const at = (rank: number) => all[Math.round((rank / 100) * count) - 1] ?? Number.NaN;
    expect(summary.count).toBe(count);
    expect(summary.maxMs).toBeCloseTo(all.at(-1) ?? Number.NaN, 3);
    expect(summary.meanMs).toBeCloseTo(all.reduce((sum, ms) => sum + ms, 0) / count, 2);
    for (const [rank, got] of [
      [50, summary.p50Ms],
      [95, summary.p95Ms],
      [99, summary.p99Ms],
    ] as const) {
      expect(Math.abs(got / at(rank) - 1)).toBeLessThan(0.01);
    }
  });

  it("may be asked for in between", () => {
    const times = timesOf(1, 2, 3);
    expect(times.summary()).toMatchObject({ count: 3, meanMs: 2, maxMs: 3 });
    times.record(9);
    times.record(9);
    times.record(9);
    times.record(9);
    expect(times.summary()).toMatchObject({ count: 7, maxMs: 9 });
  });

  it("longer than a day are counted as a day, but for the mean and the longest", () => {
    const dayMs = 24 * 3600 * 1000;
    const summary = timesOf(3 * dayMs).summary();
    expect(summary).toMatchObject({ meanMs: 3 * dayMs, maxMs: 3 * dayMs });
    expect(Math.abs(summary.p50Ms / dayMs - 1)).toBeLessThan(0.01);
  });

  it("shorter than a microsecond are one", () => {
    expect(timesOf(0.0001).summary()).toMatchObject({ count: 1, p50Ms: 0.001, maxMs: 0.001 });
  });
});
