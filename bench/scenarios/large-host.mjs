import { loopDelay, throughput } from "./measures.mjs";

const kGiB = 2 ** 30;

export const largeHost = {
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
