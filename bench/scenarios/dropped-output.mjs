import { hostCpu, peakGrowth, wall } from "./measures.mjs";

const kWritten = 2 * 2 ** 30;
const kKept = 2 ** 20;

export const droppedOutput = {
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
