// What an agent pays for having the sandbox by MCP.

import { hostMemory } from "./measures.mjs";

export const mcp = {
  name: "mcp",
  work:
    "the tool `run` of native-runner mcp with /bin/true, by the official client on standard input " +
    "and output, less exec() of the same in a transaction of this process, one after the other; both " +
    "with `explain`, which is the tool's default and takes about half a millisecond",
  variants: ["mcpRun"],
  sizes: { full: { rounds: 20, runs: 30 }, quick: { rounds: 3, runs: 20 } },
  request: {},
  measures: [
    {
      name: "above exec()",
      unit: "ms",
      sample: (burst) => burst.runMs,
      limit: { of: "p50", atMost: 2, aim: 1 },
    },
    hostMemory,
  ],
};
