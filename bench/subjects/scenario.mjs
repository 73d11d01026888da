// What a scenario is made of: the measures that several share, and the points at which one is measured.

import { readFileSync } from "node:fs";

// Measures that several scenarios share; see statistics.mjs for their fields.

export const runTime = {
  name: "one run",
  unit: "ms",
  sample: (burst) => burst.runMs,
};

export const throughput = {
  name: "throughput",
  unit: "runs/s",
  higherIsBetter: true,
  sample: (burst) => (burst.runMs.length / burst.wallMs) * 1e3,
};

// The variant's own process, all its threads, without its children.
export const hostCpu = {
  name: "host CPU per run",
  unit: "ms",
  sample: (burst) => burst.cpuMs / burst.runMs.length,
};

// All that the machine did for it: of the host, the sandbox, the command and the kernel's threads.
export const machineCpu = {
  name: "CPU of the machine per run",
  unit: "ms",
  sample: (burst) => burst.machineMs / burst.runMs.length,
};

export const wall = {
  name: "wall",
  unit: "ms",
  sample: (burst) => burst.wallMs,
};

/** What the variant's own process has resident after a burst. */
export const hostMemory = {
  name: "host RSS",
  unit: "MiB",
  sample: (burst) => burst.residentBytes / 2 ** 20,
};

export const loopDelay = {
  name: "loop delay",
  unit: "ms",
  sample: (burst) => burst.loopP50Ms,
  tailSample: (burst) => burst.loopP99Ms,
};

export const peakGrowth = {
  name: "peak RSS growth",
  unit: "MiB",
  sample: (burst) => burst.peakGrowthBytes / 2 ** 20,
};

// The points of a scenario. One without an axis has a single point, itself. One with an axis is
// measured anew for each of its values:
//   axis { name, at, quick, barsAt?, label?(at), of(at, size) }
// `of` resolves to what a value changes: { request?, holdBytes?, runs?, rounds? }. Bars hold for the
// value `barsAt` alone.

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
