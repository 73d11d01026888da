// What an agent pays for having the sandbox by MCP.

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

import { bursts } from "../bursts.mjs";
import { noTransactions } from "./projects.mjs";
import { hostMemory } from "./scenario.mjs";

const mcp = {
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

export const scenarios = [mcp];

// `run` of native-runner mcp against `exec` of a transaction with the same policy, with `explain` and without,
// one after the other: what the protocol, a second process and the answer's words cost.

const kMain = fileURLToPath(new URL("../../dist/cli/main.js", import.meta.url));
const kTrue = { argv: ["/bin/true"] };

async function checkedMs(work) {
  const from = performance.now();
  const result = await work();
  const milliseconds = performance.now() - from;
  if (result.exitCode !== 0) throw new Error(`/bin/true ended with ${result.exitCode}`);
  return milliseconds;
}

async function openRun() {
  const { Client } = await import("@modelcontextprotocol/client");
  const { StdioClientTransport } = await import("@modelcontextprotocol/client/stdio");
  const { BubblewrapNativeRunner } = await import("../../dist/index.js");
  const top = mkdtempSync(join(tmpdir(), "native-runner-bench-mcp-"));
  const [workspace, other, state] = ["a", "b", "state"].map((name) => mkdtempSync(join(top, name)));
  const client = new Client({ name: "bench", version: "1" });
  const args = [kMain, "mcp", "--workspace", workspace, "--state-directory", state];
  const server = { command: process.execPath, args, stderr: "ignore" };
  await client.connect(new StdioClientTransport(server));
  const runner = new BubblewrapNativeRunner({ shadowDir: other });
  const transaction = await runner.openTransaction({ directory: state });
  const call = async () =>
    (await client.callTool({ name: "run", arguments: kTrue })).structuredContent;
  const exec = (explain) => checkedMs(() => transaction.exec({ ...kTrue, explain }));
  let taken = { callMs: [], abovePlainMs: [] };
  // Each is followed by a call, so that each finds the sandboxes that it takes made anew.
  const step = async () => {
    const explained = await exec(true);
    const afterExplained = await checkedMs(call);
    const plain = await exec(false);
    const afterPlain = await checkedMs(call);
    taken.callMs.push(afterExplained, afterPlain);
    taken.abovePlainMs.push(afterPlain - plain);
    return afterExplained - explained;
  };
  const more = () => {
    const last = taken;
    taken = { callMs: [], abovePlainMs: [] };
    return last;
  };
  return {
    burst: bursts(step, more),
    async close() {
      await client.close();
      await transaction.discard();
      await runner.close();
      rmSync(top, { recursive: true, force: true });
    },
  };
}

export const variants = {
  mcpRun: {
    title: "run of native-runner mcp",
    kind: "ours",
    missing: noTransactions,
    open: openRun,
  },
};
