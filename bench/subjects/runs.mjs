// The scenarios of commands that are run: one at a time and many at once, in large hosts, cloned, and with
// much output. Their variants are in ours.mjs and others.mjs.

import { percentile } from "../statistics.mjs";
import { poolVariants } from "./ours.mjs";
import {
  hostCpu,
  hostMemory,
  loopDelay,
  machineCpu,
  peakGrowth,
  runTime,
  throughput,
  wall,
} from "./scenario.mjs";

const kMiB = 2 ** 20;
const kGiB = 2 ** 30;

const cold = { ...runTime, bars: { floor: { atMost: 1.15, aim: 1.05 } } };

export const oneRun = {
  name: "one-run",
  work:
    "/bin/true, one at a time, until it has been reaped; where sandboxes are kept standing, the " +
    "next run comes when they all stand again, and where they are cloned, the template stands",
  variants: [
    ...["ours", "cloned", "prewarmed", "session", "landlock", "landlockSession"],
    ...["floor", "childProcess", "execa", "firejail", "sandboxRuntime"],
    ...["bare", "bareChildProcess"],
  ],
  sizes: { full: { rounds: 30, runs: 20 }, quick: { rounds: 3, runs: 10 } },
  request: { argv: ["/bin/true"], atOnce: 1, ready: "run" },
  measures: [
    cold,
    { ...runTime, of: "cloned", bars: { floor: { atMost: 0.28, aim: 0.24 } } },
    {
      ...runTime,
      of: "prewarmed",
      bars: { ours: { atMost: 0.35, aim: 0.22 }, bare: { atMost: 1.7, aim: 1.5 } },
    },
    { ...runTime, of: "session", bars: { bare: { atMost: 1.2, aim: 1.1 } } },
    { ...runTime, of: "landlock", bars: { ours: { atMost: 0.5, aim: 0.4 } } },
    { ...hostCpu, bars: { childProcess: { atMost: 0.35, aim: 0.25 } } },
    hostMemory,
  ],
};

const concurrency = {
  name: "concurrency",
  work:
    "/bin/true, more and more runs in flight; nothing is waited for, so sandboxes that are kept " +
    "standing soon are all taken",
  variants: [
    ...["ours", "cloned", "prewarmed", "session", "landlock", "landlockSession"],
    ...["floor", "childProcess", "execa", "firejail", "sandboxRuntime"],
  ],
  axis: {
    name: "runs in flight",
    at: [1, 2, 4, 8, 16, 64],
    quick: [1, 8],
    barsAt: 8,
    of(at, size) {
      const isThorough = size === "full" && at === 8;
      return { request: { atOnce: at }, ...(isThorough ? { rounds: 10, runs: 200 } : {}) };
    },
  },
  sizes: { full: { rounds: 3, runs: 100 }, quick: { rounds: 3, runs: 40 } },
  request: { argv: ["/bin/true"] },
  machineCpu: true,
  measures: [
    { ...throughput, bars: { floor: { atLeast: 0.9, aim: 1 } } },
    { ...throughput, of: "cloned", bars: { floor: { atLeast: 4.5, aim: 5.5 } } },
    { ...throughput, of: "prewarmed", bars: { ours: { atLeast: 1, aim: 1.2 } } },
    { ...throughput, of: "session", bars: { ours: { atLeast: 5, aim: 8 } } },
    { ...hostCpu, bars: { childProcess: { atMost: 0.4, aim: 0.25 } } },
    { ...machineCpu, of: "cloned", bars: { floor: { atMost: 0.3, aim: 0.25 } } },
    runTime,
  ],
};

const poolSize = {
  name: "pool-size",
  work:
    "/bin/true, a burst of runs started at the same moment, timed to the end of the last one; " +
    "before each burst all sandboxes of the pool stand",
  variants: poolVariants,
  axis: {
    name: "runs in the burst",
    at: [1, 2, 4, 8, 16, 32],
    quick: [1, 8],
    of: (at) => ({ runs: at, request: { atOnce: at } }),
  },
  sizes: { full: { rounds: 8, runs: 1 }, quick: { rounds: 3, runs: 1 } },
  request: { argv: ["/bin/true"], ready: "burst" },
  measures: [wall],
};

const largeHost = {
  name: "large-host",
  work:
    "/bin/true, 8 in flight, in a host that holds touched Buffers; loop delay by " +
    "monitorEventLoopDelay, resolution 1 ms, which an idle loop shows as just over 1 ms",
  variants: ["ours", "prewarmed", "childProcess"],
  axis: {
    name: "GiB held by the host",
    at: [0, 1, 2, 4],
    quick: [0, 2],
    barsAt: 2,
    of: (at) => ({ holdBytes: at * kGiB, runs: at > 2 ? 100 : undefined }),
  },
  // Each of its forks takes up to 0.2 s there.
  shares: { childProcess: 0.3 },
  sizes: { full: { rounds: 4, runs: 200 }, quick: { rounds: 2, runs: 40 } },
  request: { argv: ["/bin/true"], atOnce: 8, watchLoop: true },
  measures: [
    { ...throughput, bars: { childProcess: { atLeast: 8, aim: 12 } } },
    { ...loopDelay, limit: { of: "p50", atMost: 2, aim: 1.2 } },
    { ...loopDelay, of: "prewarmed", limit: { of: "p50", atMost: 1.5, aim: 1.2 } },
    { ...loopDelay, of: "prewarmed", limit: { of: "p99", atMost: 10, aim: 5 } },
  ],
};

// What sandboxes that are cloned show where it is hardest; one at a time and by their rate they are
// among the others in one-run and concurrency.

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
    { ...slowest, bars: { crowdCold: { atMost: 0.2, aim: 0.15 } } },
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

const kLargest = 64;

const keptOutput = {
  name: "kept-output",
  work: "head -c from /dev/zero, all of its output kept; a host process for each run",
  variants: ["ours", "childProcess", "execa"],
  fresh: true,
  axis: {
    name: "output",
    at: [0.0625, 1, 8, kLargest],
    quick: [1, kLargest],
    barsAt: kLargest,
    label: (at) => (at < 1 ? `${at * 1024} KiB` : `${at} MiB`),
    of(at, size) {
      const bytes = at * kMiB;
      return {
        rounds: size === "full" && at === kLargest ? 16 : undefined,
        request: {
          argv: ["/usr/bin/head", "-c", String(bytes), "/dev/zero"],
          limits: { maxStdoutBytes: bytes },
          expected: { kept: bytes, written: bytes },
        },
      };
    },
  },
  sizes: { full: { rounds: 8, runs: 1 }, quick: { rounds: 3, runs: 1 } },
  request: { atOnce: 1 },
  measures: [
    { ...wall, bars: { childProcess: { atMost: 0.6, aim: 0.4 } } },
    hostCpu,
    { ...peakGrowth, limit: { of: "max", atMost: 1.3 * kLargest, aim: 1.1 * kLargest } },
  ],
};

const kWritten = 2 * kGiB;
const kKept = kMiB;

const droppedOutput = {
  name: "dropped-output",
  work:
    "2 GiB written by head -c from /dev/zero, 1 MiB of it kept, the rest drained; a host process " +
    "for each run (execa can't drain what is over its cap)",
  variants: ["ours", "childProcess"],
  fresh: true,
  sizes: { full: { rounds: 10, runs: 1 }, quick: { rounds: 2, runs: 1 } },
  request: {
    argv: ["/usr/bin/head", "-c", String(kWritten), "/dev/zero"],
    limits: { maxStdoutBytes: kKept },
    expected: { kept: kKept, written: kWritten },
    atOnce: 1,
  },
  measures: [
    { ...wall, bars: { childProcess: { atMost: 0.6, aim: 0.4 } } },
    { ...hostCpu, bars: { childProcess: { atMost: 0.5, aim: 0.2 } } },
    { ...peakGrowth, limit: { of: "max", atMost: 8, aim: 8 } },
  ],
};

const aSandbox = {
  name: "a sandbox",
  unit: "MiB",
  sample: (burst) => burst.sandboxBytes / kMiB,
};

const kLimit = { of: "p50", atMost: 3, aim: 1.5 };

const sandboxMemory = {
  name: "sandbox-memory",
  work:
    "what a sandbox takes, as the VmRSS of all its processes (what they share is counted for each): " +
    "one that stands ready (a clone, with its share of the template), one kept for a session, one " +
    "around a command that runs, and a template (ours, cloned)",
  variants: ["prewarmed", "cloned", "session", "landlockSession", "ours"],
  sizes: { full: { rounds: 8, runs: 8 }, quick: { rounds: 2, runs: 2 } },
  request: { argv: ["/bin/true"], atOnce: 1, sandboxBytes: true },
  measures: [
    { ...aSandbox, limit: kLimit },
    { ...aSandbox, of: "cloned", limit: kLimit },
  ],
};

export const scenarios = [
  ...[oneRun, concurrency, poolSize, largeHost],
  ...[burst, rates, first],
  ...[keptOutput, droppedOutput, sandboxMemory],
];
