import { hostCpu, machineCpu, runTime, throughput } from "./measures.mjs";

export const concurrency = {
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
    { ...throughput, of: "cloned", bars: { floor: { atLeast: 3, aim: 4.5 } } },
    { ...throughput, of: "prewarmed", bars: { ours: { atLeast: 1, aim: 1.2 } } },
    { ...throughput, of: "session", bars: { ours: { atLeast: 5, aim: 8 } } },
    { ...hostCpu, bars: { childProcess: { atMost: 0.4, aim: 0.25 } } },
    { ...machineCpu, of: "cloned", bars: { floor: { atMost: 0.5, aim: 0.4 } } },
    runTime,
  ],
};
