import { describe, expect, it } from "vitest";
import {
  compare,
  fallAfterPeak,
  percentile,
  pointRows,
  summarize,
} from "../../bench/statistics.mjs";

describe("the fall after the peak", () => {
  it("is that of the lowest value behind it", () => {
    expect(fallAfterPeak([1, 4, 10, 8, 9])).toBeCloseTo(20);
    expect(fallAfterPeak([1, 4, 10])).toBe(0);
  });
});

describe("percentiles", () => {
  it("interpolates between neighbours", () => {
    expect(percentile([1, 2, 3, 4], 50)).toBe(2.5);
    expect(percentile([10, 20], 25)).toBe(12.5);
    expect(percentile([7], 99)).toBe(7);
  });

  it("sorts numbers as numbers", () => {
    expect(summarize([100, 9, 20])).toMatchObject({ samples: 3, p50: 20, max: 100 });
  });
});

describe("ratios", () => {
  it("are of the medians of all rounds, with their spread from round to round", () => {
    const ratio = compare([[2, 2], [4], [6]], [[2], [2], [2, 2]], "p99");
    expect(ratio.p50).toBe(1.5);
    expect(ratio.p10OfRounds).toBeCloseTo(1.2);
    expect(ratio.p90OfRounds).toBeCloseTo(2.8);
  });
});

describe("rows", () => {
  const bursts = (...values: number[]) => values.map((ms) => ({ ms }));
  const measure = { name: "wall", unit: "ms", sample: (burst: { ms: number }) => burst.ms };
  const rowsOf = (...measures: object[]) =>
    pointRows(
      { measures },
      new Map([
        ["ours", bursts(2, 2)],
        ["floor", bursts(1, 1)],
        ["execa", bursts(4, 4)],
      ]),
    );

  it("compare the first variant with each other one, and hold a bar to its ratio", () => {
    const rows = rowsOf({ ...measure, bars: { floor: { atMost: 1.5, aim: 1 } } });
    expect(rows.map(({ of, against, ratio }) => [of, against, ratio?.p50])).toEqual([
      ["ours", "floor", 2],
      ["ours", "execa", 0.5],
    ]);
    expect(rows.map(({ verdict }) => verdict)).toEqual(["MISS", ""]);
  });

  it("compare another subject with those alone that it has a bar for", () => {
    const rows = rowsOf({ ...measure, of: "execa", bars: { ours: { atLeast: 2, aim: 3 } } });
    expect(rows).toHaveLength(1);
    expect(rows[0]).toMatchObject({ of: "execa", against: "ours", verdict: "PASS" });
  });

  it("hold a limit to the subject's own number", () => {
    const limit = { of: "max", atMost: 3, aim: 2 };
    expect(rowsOf({ ...measure, limit }).at(-1)).toMatchObject({ verdict: "PASS, aim" });
  });

  it("leave out a variant that lacks the measure", () => {
    const sample = (burst: { ms: number }) => (burst.ms === 1 ? undefined : burst.ms);
    expect(rowsOf({ ...measure, sample }).map(({ against }) => against)).toEqual(["execa"]);
  });
});
