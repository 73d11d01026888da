// What it costs that nothing a command does is the host's yet, and what it takes to make it so.

import { hostMemory, loopDelay, runTime } from "./measures.mjs";

// "While all this goes on": of a host that does nothing else, in each of these scenarios.
const quietLoop = { ...loopDelay, limit: { of: "p99", atMost: 5, aim: 2 } };

const call = (name, bars) => ({ ...runTime, name, ...bars });

const kRatio = { atMost: 1.15, aim: 1.05 };

const runs = {
  name: "transaction-run",
  work:
    "/bin/true, one at a time, in a transaction and without; where sandboxes are kept standing, " +
    "the next run comes when they all stand again",
  variants: ["transacted", "transactedPrewarmed", "ours", "prewarmed"],
  sizes: { full: { rounds: 30, runs: 20 }, quick: { rounds: 3, runs: 10 } },
  request: { argv: ["/bin/true"], atOnce: 1, ready: "run", watchLoop: true },
  measures: [
    { ...runTime, bars: { ours: kRatio } },
    { ...runTime, of: "transactedPrewarmed", bars: { prewarmed: kRatio } },
    quietLoop,
  ],
};

const open = {
  name: "transaction-open",
  work:
    "openTransaction on a project of 50,000 files with 2 GB; and what a transaction takes on disk " +
    "in which 10 of them were changed, without the size of these",
  variants: ["transactionOpen"],
  sizes: { full: { rounds: 10, runs: 20 }, quick: { rounds: 2, runs: 5 } },
  request: {},
  measures: [
    call("opening", { limit: { of: "p50", atMost: 30, aim: 10 } }),
    {
      name: "disk besides",
      unit: "MiB",
      sample: (burst) => burst.overheadBytes / 2 ** 20,
      limit: { of: "max", atMost: 1, aim: 0.25 },
    },
    quietLoop,
  ],
};

const changes = {
  name: "transaction-changes",
  work:
    "changes() of 10,000 changes (5,000 files that are longer, 2,000 of another content, 1,000 " +
    "removed, 2,000 new), one call after the other, against a C program that walks the same upper",
  variants: ["transactionChanges", "transactionWalk"],
  sizes: { full: { rounds: 20, runs: 10 }, quick: { rounds: 3, runs: 4 } },
  request: {},
  measures: [
    call("one call", { bars: { transactionWalk: { atMost: 2, aim: 1.2 } } }),
    quietLoop,
    hostMemory,
  ],
};

const commit = {
  name: "transaction-commit",
  work:
    "commit() of 1,000 files of 4 KiB that a command has changed, against a C program that " +
    "exchanges as many by RENAME_EXCHANGE, with one syncfs",
  variants: ["transactionCommit", "transactionExchange"],
  sizes: { full: { rounds: 20, runs: 3 }, quick: { rounds: 3, runs: 2 } },
  request: {},
  measures: [
    call("one commit", { bars: { transactionExchange: { atMost: 2, aim: 1.3 } } }),
    quietLoop,
  ],
};

const diff = {
  name: "transaction-diff",
  work:
    "diff() of 100 files of 1,000 lines, every fifth changed (20,000 in all), against git diff " +
    "--no-index of two directories, its output read by Node",
  variants: ["transactionDiff", "gitDiff"],
  sizes: { full: { rounds: 20, runs: 5 }, quick: { rounds: 3, runs: 3 } },
  request: {},
  measures: [call("one diff", { bars: { gitDiff: { atMost: 2, aim: 1 } } }), quietLoop],
};

export const transactions = [runs, open, changes, commit, diff];
