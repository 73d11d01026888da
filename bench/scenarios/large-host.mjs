import { throughput } from "./measures.mjs";

export const loopDelay = {
  name: "loop delay",
  unit: "ms",
  sample: (burst) => burst.loopP50Ms,
  tailSample: (burst) => burst.loopP99Ms,
  limit: { of: "p50", atMost: 2, aim: 1.2 },
};

export const largeHost = {
  name: "large-host",
  work:
    "as eight-at-once, in a host that holds 2 GiB of touched Buffers; loop delay by " +
    "monitorEventLoopDelay, resolution 1 ms, which an idle loop shows as just over 1 ms",
  variants: ["ours", "childProcess"],
  holdBytes: 2 * 2 ** 30,
  sizes: { full: { rounds: 6, runs: 80 }, quick: { rounds: 2, runs: 24 } },
  request: { argv: ["/bin/true"], atOnce: 8, watchLoop: true },
  measures: [{ ...throughput, bars: { childProcess: { atLeast: 8, aim: 12 } } }, loopDelay],
};
