// What it costs that a command's refused calls are explained.

import { loopDelay, runTime } from "./measures.mjs";

const kWorks = [
  {
    name: "explain-status",
    work: "git status of a project of 1,000 files, with explain and without",
    of: "status",
    bar: { atMost: 1.3, aim: 1.1 },
    sizes: { full: { rounds: 40, runs: 10 }, quick: { rounds: 3, runs: 3 } },
  },
  {
    name: "explain-many",
    work: "200 × /bin/true of one shell, with explain and without",
    of: "many",
    bar: { atMost: 1.3, aim: 1.15 },
    sizes: { full: { rounds: 30, runs: 4 }, quick: { rounds: 3, runs: 2 } },
  },
  {
    name: "explain-build",
    work: "eight C files of 100 functions compiled and linked, with explain and without",
    of: "build",
    bar: { atMost: 1.1, aim: 1.05 },
    sizes: { full: { rounds: 20, runs: 1 }, quick: { rounds: 2, runs: 1 } },
  },
];

export const explain = kWorks.map(({ name, work, of, bar, sizes }) => ({
  name,
  work,
  variants: [`${of}Explained`, `${of}Plain`],
  sizes,
  request: { argv: [], atOnce: 1, watchLoop: true },
  measures: [{ ...runTime, bars: { [`${of}Plain`]: bar } }, loopDelay],
}));
