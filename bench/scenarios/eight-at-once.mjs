import { hostCpu, runTime, throughput } from "./measures.mjs";

export const eightAtOnce = {
  name: "eight-at-once",
  work: "/bin/true in the strict sandbox, 8 in flight",
  variants: ["ours", "floor", "childProcess", "execa"],
  sizes: { full: { rounds: 12, runs: 200 }, quick: { rounds: 3, runs: 40 } },
  request: { argv: ["/bin/true"], atOnce: 8 },
  measures: [
    { ...throughput, bars: { floor: { atLeast: 0.9, aim: 1 } } },
    { ...hostCpu, bars: { childProcess: { atMost: 0.4, aim: 0.25 } } },
    runTime,
  ],
};
