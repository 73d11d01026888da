import { hostCpu, wall } from "./measures.mjs";

const kOutput = 64 * 2 ** 20;

const peakGrowth = {
  name: "peak RSS growth",
  unit: "x output",
  sample: (burst) => burst.peakGrowthBytes / kOutput,
  limit: { of: "max", atMost: 1.3, aim: 1.1 },
};

export const keptOutput = {
  name: "kept-output",
  work: "64 MiB written by head -c from /dev/zero, all of it kept; a host process for each run",
  variants: ["ours", "childProcess", "execa"],
  fresh: true,
  sizes: { full: { rounds: 20, runs: 1 }, quick: { rounds: 3, runs: 1 } },
  request: {
    argv: ["/usr/bin/head", "-c", String(kOutput), "/dev/zero"],
    limits: { maxStdoutBytes: kOutput },
    expected: { kept: kOutput, written: kOutput },
    atOnce: 1,
  },
  measures: [{ ...wall, bars: { childProcess: { atMost: 0.6, aim: 0.4 } } }, hostCpu, peakGrowth],
};
