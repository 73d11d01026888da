// The points of a scenario. One without an axis has a single point, itself. One with an axis is
// measured anew for each of its values:
//   axis { name, at, quick, barsAt?, label?(at), of(at, size) }
// `of` resolves to what a value changes: { request?, holdBytes?, runs?, rounds? }. Bars hold for the
// value `barsAt` alone.

import { readFileSync } from "node:fs";

// What the hosts, the commands and all else on the machine need besides what is held.
const kSpareBytes = 2 * 2 ** 30;

const withoutBars = ({ bars: _bars, limit: _limit, ...measure }) => measure;

function pointAt(scenario, at, size) {
  const { request, runs, rounds, ...others } = scenario.axis.of(at, size);
  const amount = scenario.sizes[size];
  const isBarred = at === scenario.axis.barsAt;
  return {
    at,
    scenario: {
      ...scenario,
      ...others,
      request: { ...scenario.request, ...request },
      sizes: { [size]: { runs: runs ?? amount.runs, rounds: rounds ?? amount.rounds } },
      measures: isBarred ? scenario.measures : scenario.measures.map(withoutBars),
    },
  };
}

/** A value as the reports write it. */
export const labelOf = (axis, at) => axis.label?.(at) ?? String(at);

export function pointsOf(scenario, size) {
  const { axis } = scenario;
  if (axis === undefined) return [{ scenario }];
  const values = size === "quick" ? axis.quick : axis.at;
  return values.map((at) => pointAt(scenario, at, size));
}

/** Whether all hosts of the point can hold what they are to hold, at once. */
export function fitsInMemory({ holdBytes = 0, variants }) {
  if (holdBytes === 0) return true;
  const available = /^MemAvailable:\s+(\d+) kB$/m.exec(readFileSync("/proc/meminfo", "utf8"));
  return Number(available?.[1]) * 1024 > holdBytes * variants.length + kSpareBytes;
}
