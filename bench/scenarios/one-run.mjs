import { hostCpu, hostMemory, runTime } from "./measures.mjs";

const cold = { ...runTime, bars: { floor: { atMost: 1.15, aim: 1.05 } } };

export const oneRun = {
  name: "one-run",
  work:
    "/bin/true, one at a time, until it has been reaped; where sandboxes are kept standing, the " +
    "next run comes when they all stand again, and where they are cloned, the template stands",
  variants: [
    ...["ours", "cloned", "prewarmed", "session", "landlock", "landlockSession"],
    ...["floor", "childProcess", "execa", "firejail", "sandboxRuntime"],
    ...["bare", "bareChildProcess"],
  ],
  sizes: { full: { rounds: 30, runs: 20 }, quick: { rounds: 3, runs: 10 } },
  request: { argv: ["/bin/true"], atOnce: 1, ready: "run" },
  measures: [
    cold,
    { ...runTime, of: "cloned", bars: { floor: { atMost: 0.55, aim: 0.35 } } },
    {
      ...runTime,
      of: "prewarmed",
      bars: { ours: { atMost: 0.35, aim: 0.22 }, bare: { atMost: 2.5, aim: 2 } },
    },
    { ...runTime, of: "session", bars: { bare: { atMost: 2, aim: 1.2 } } },
    { ...runTime, of: "landlock", bars: { ours: { atMost: 0.5, aim: 0.4 } } },
    { ...hostCpu, bars: { childProcess: { atMost: 0.35, aim: 0.25 } } },
    hostMemory,
  ],
};
