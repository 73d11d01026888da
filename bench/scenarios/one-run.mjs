import { hostCpu, runTime } from "./measures.mjs";

export const oneRun = {
  name: "one-run",
  work: "/bin/true in the strict sandbox, one at a time, until it has been reaped",
  variants: ["ours", "floor", "childProcess", "execa"],
  sizes: { full: { rounds: 40, runs: 20 }, quick: { rounds: 5, runs: 10 } },
  request: { argv: ["/bin/true"], atOnce: 1 },
  measures: [
    { ...runTime, bars: { floor: { atMost: 1.2, aim: 1.05 } } },
    { ...hostCpu, bars: { childProcess: { atMost: 0.4, aim: 0.25 } } },
  ],
};
