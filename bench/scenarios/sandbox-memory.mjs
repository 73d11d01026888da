const aSandbox = {
  name: "a sandbox",
  unit: "MiB",
  sample: (burst) => burst.sandboxBytes / 2 ** 20,
};

const kLimit = { of: "p50", atMost: 3, aim: 1.5 };

export const sandboxMemory = {
  name: "sandbox-memory",
  work:
    "what a sandbox takes, as the VmRSS of all its processes (what they share is counted for each): " +
    "one that stands ready (a clone, with its share of the template), one kept for a session, one " +
    "around a command that runs, and a template (ours, cloned)",
  variants: ["prewarmed", "cloned", "session", "landlockSession", "ours"],
  sizes: { full: { rounds: 8, runs: 8 }, quick: { rounds: 2, runs: 2 } },
  request: { argv: ["/bin/true"], atOnce: 1, sandboxBytes: true },
  measures: [
    { ...aSandbox, limit: kLimit },
    { ...aSandbox, of: "cloned", limit: kLimit },
  ],
};
