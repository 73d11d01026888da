// What an agent pays for having the sandbox by MCP.

import { hostMemory } from "./measures.mjs";

export const mcp = {
  name: "mcp",
  work:
    "the tool `run` of native-runner mcp with /bin/true, by the official client on standard input " +
    "and output; and the same less exec() of it in a transaction of this process, one after the other: " +
    "with `explain`, which is the tool's default, and without, which the call has nevertheless",
  variants: ["mcpRun"],
  sizes: { full: { rounds: 20, runs: 30 }, quick: { rounds: 3, runs: 20 } },
  request: {},
  measures: [
    { name: "the call", unit: "ms", sample: (burst) => burst.callMs },
    {
      name: "above exec() with explain",
      unit: "ms",
      sample: (burst) => burst.runMs,
      limit: { of: "p50", atMost: 2, aim: 1 },
    },
    {
      name: "above exec() without",
      unit: "ms",
      sample: (burst) => burst.abovePlainMs,
      limit: { of: "p50", atMost: 2, aim: 1.5 },
    },
    hostMemory,
  ],
};
