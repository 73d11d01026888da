// What sandboxes that are cloned show where it is hardest; one at a time and by their rate they are
// among the others in one-run and concurrency.

import { percentile } from "../summary.mjs";
import { runTime, throughput } from "./measures.mjs";

const slowest = {
  name: "p95 of a burst's runs",
  unit: "ms",
  sample: ({ runMs }) => percentile(Float64Array.from(runMs).sort(), 95),
};

const burst = {
  name: "clone-burst",
  work:
    "/bin/true, 64 runs that all come at the same moment; the template stands, no sandbox does; " +
    "`maxConcurrent: 64`",
  variants: ["crowdCloned", "crowdCold"],
  sizes: { full: { rounds: 20, runs: 64 }, quick: { rounds: 4, runs: 64 } },
  request: { argv: ["/bin/true"], atOnce: 64, ready: "burst" },
  measures: [
    { ...slowest, bars: { crowdCold: { atMost: 0.4, aim: 0.25 } } },
    throughput,
    { ...runTime, name: "one run of the burst" },
  ],
};

const rates = {
  name: "clone-rates",
  work:
    "/bin/true at 1, 2, 4, 8, 16 and 64 at once, in turn, three times; a sample is how far the " +
    "rate has fallen behind its peak at most, of the medians",
  variants: ["cloneRates"],
  sizes: { full: { rounds: 8, runs: 384 }, quick: { rounds: 2, runs: 128 } },
  request: {},
  measures: [
    {
      name: "fall after the peak",
      unit: "%",
      sample: (burst) => burst.fallPercent,
      limit: { of: "p50", atMost: 10, aim: 5 },
    },
  ],
};

const first = {
  name: "clone-first",
  work: "/bin/true, the first run of a runner that was just made, which is closed behind it: as runners come, and without clones and standing sandboxes",
  variants: ["firstRun", "firstColdRun"],
  sizes: { full: { rounds: 20, runs: 10 }, quick: { rounds: 3, runs: 10 } },
  request: {},
  measures: [{ ...runTime, bars: { firstColdRun: { atMost: 1.25, aim: 1.1 } } }],
};

export const clones = [burst, rates, first];
