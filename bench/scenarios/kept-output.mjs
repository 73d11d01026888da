import { hostCpu, peakGrowth, wall } from "./measures.mjs";

const kMiB = 2 ** 20;
const kLargest = 64;

export const keptOutput = {
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
