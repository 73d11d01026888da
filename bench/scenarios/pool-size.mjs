import { poolVariants } from "../variants/index.mjs";
import { wall } from "./measures.mjs";

export const poolSize = {
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
