// What it costs that commands run on the workers of a pool: a broker and two workers on this machine.

import { hostMemory, runTime, throughput } from "./measures.mjs";

const more = (atMost, aim) => ({ of: "p50", atMost, aim });

const noop = {
  name: "remote-noop",
  work:
    "a call whose workers run nothing: the dispatch alone; against a design with a queue in JetStream, from which " +
    "workers take offers and claim them at the caller",
  variants: ["remoteNoop", "claimNoop"],
  sizes: { full: { rounds: 20, runs: 50 }, quick: { rounds: 3, runs: 30 } },
  request: {},
  measures: [
    { ...runTime, name: "one call", bars: { claimNoop: { atMost: 1, aim: 0.5 } } },
    hostMemory,
  ],
};

const run = {
  name: "remote-run",
  work: "/bin/true on a worker, less the same in this process just before",
  variants: ["remoteRun"],
  sizes: { full: { rounds: 20, runs: 30 }, quick: { rounds: 3, runs: 20 } },
  request: {},
  measures: [
    { ...runTime, name: "what it takes more", limit: more(3, 1.5) },
    { name: "on a worker", unit: "ms", sample: (burst) => burst.thereMs },
    { name: "here", unit: "ms", sample: (burst) => burst.hereMs },
  ],
};

const session = {
  name: "remote-session",
  work: "a session's command on a worker, less one of a session in this process just before",
  variants: ["remoteSession"],
  sizes: { full: { rounds: 20, runs: 50 }, quick: { rounds: 3, runs: 30 } },
  request: {},
  measures: [{ ...runTime, name: "what it takes more", limit: more(1.2, 0.6) }],
};

const rates = {
  name: "remote-rates",
  work: "/bin/true, 64 at once: a pool on the same processors against this process alone",
  variants: ["remoteRates", "localRates"],
  sizes: { full: { rounds: 12, runs: 600 }, quick: { rounds: 3, runs: 200 } },
  request: { atOnce: 64 },
  measures: [{ ...throughput, bars: { localRates: { atLeast: 0.9, aim: 0.97 } } }],
};

const output = {
  name: "remote-output",
  work: "100 MB of a command's output, within credit; against the same bytes by a bare publish and subscribe",
  variants: ["remoteOutput", "bareOutput"],
  sizes: { full: { rounds: 10, runs: 2 }, quick: { rounds: 3, runs: 1 } },
  request: {},
  measures: [
    {
      name: "rate",
      unit: "MB/s",
      higherIsBetter: true,
      sample: (burst) => burst.runMs.map((ms) => 1e5 / ms),
      bars: { bareOutput: { atLeast: 0.5, aim: 0.8 } },
    },
  ],
};

const workspace = {
  name: "remote-workspace",
  work:
    "/bin/true in a project of 5,000 files (219 MB), 10 of which have changed: moved to the worker by content, run " +
    "there, and brought back; against the one way by rsync's daemon",
  variants: ["remoteWorkspace", "rsyncWorkspace"],
  sizes: { full: { rounds: 10, runs: 3 }, quick: { rounds: 3, runs: 1 } },
  request: {},
  measures: [
    {
      ...runTime,
      name: "without the run's own time",
      sample: (burst) => burst.movingMs,
      bars: { rsyncWorkspace: { atMost: 0.6, aim: 0.4 } },
    },
    runTime,
    { name: "the first time", unit: "ms", sample: (burst) => burst.firstMs },
  ],
};

export const remote = [noop, run, session, rates, output, workspace];
