import { hostCpu, runTime } from "./measures.mjs";

export const landlock = {
  name: "landlock",
  work: "/bin/true under Landlock against strict Bubblewrap, both ours, one at a time",
  variants: ["landlock", "bubblewrap"],
  sizes: { full: { rounds: 40, runs: 20 }, quick: { rounds: 5, runs: 10 } },
  request: { argv: ["/bin/true"], atOnce: 1 },
  measures: [{ ...runTime, bars: { bubblewrap: { atMost: 0.5, aim: 0.4 } } }, hostCpu],
};
