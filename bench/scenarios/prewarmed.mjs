import { loopDelay } from "./large-host.mjs";
import { hostCpu, runTime, throughput } from "./measures.mjs";

const variants = ["prewarmed", "cold"];

const sandboxMemory = {
  name: "a standing sandbox",
  unit: "MiB",
  sample: (burst) => burst.sandboxBytes / 2 ** 20,
  limit: { of: "p50", atMost: 3, aim: 1.5 },
};

export const prewarmed = {
  name: "prewarmed",
  work:
    "/bin/true, one at a time, in one of 8 sandboxes that all stand when it starts, against ours " +
    "without any; memory is the VmRSS of all processes of one, against that of one in use",
  variants,
  sizes: { full: { rounds: 20, runs: 20 }, quick: { rounds: 4, runs: 10 } },
  request: { argv: ["/bin/true"], atOnce: 1, whenReady: true, sandboxBytes: true },
  measures: [{ ...runTime, bars: { cold: { atMost: 0.35, aim: 0.22 } } }, sandboxMemory],
};

export const drained = {
  name: "drained",
  work: "/bin/true, 8 in flight without a pause: the 8 standing sandboxes are always used up",
  variants,
  sizes: { full: { rounds: 12, runs: 200 }, quick: { rounds: 3, runs: 80 } },
  request: { argv: ["/bin/true"], atOnce: 8 },
  measures: [{ ...throughput, bars: { cold: { atLeast: 1, aim: 1.2 } } }, hostCpu],
};

export const prewarmedLargeHost = {
  name: "prewarmed-large-host",
  work: "as drained, in a host that holds 2 GiB of touched Buffers; loop delay as in large-host",
  variants,
  holdBytes: 2 * 2 ** 30,
  sizes: { full: { rounds: 4, runs: 200 }, quick: { rounds: 2, runs: 40 } },
  request: { argv: ["/bin/true"], atOnce: 8, watchLoop: true },
  measures: [
    { ...loopDelay, limit: { of: "p50", atMost: 1.5, aim: 1.2 } },
    {
      name: "loop delay, p99",
      unit: "ms",
      sample: (burst) => burst.loopP99Ms,
      limit: { of: "p50", atMost: 10, aim: 5 },
    },
  ],
};
