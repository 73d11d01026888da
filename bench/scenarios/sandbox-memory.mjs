export const sandboxMemory = {
  name: "sandbox-memory",
  work:
    "what a sandbox takes, as the VmRSS of all its processes (what they share is counted for each): " +
    "one that stands ready, one kept for a session, and one around a command that runs",
  variants: ["prewarmed", "session", "landlockSession", "ours"],
  sizes: { full: { rounds: 8, runs: 8 }, quick: { rounds: 2, runs: 2 } },
  request: { argv: ["/bin/true"], atOnce: 1, sandboxBytes: true },
  measures: [
    {
      name: "a sandbox",
      unit: "MiB",
      sample: (burst) => burst.sandboxBytes / 2 ** 20,
      limit: { of: "p50", atMost: 3, aim: 1.5 },
    },
  ],
};
