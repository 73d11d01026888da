// `run` of native-runner mcp against `exec` of a transaction with the same policy, with `explain` and without,
// one after the other: what the protocol, a second process and the answer's words cost.

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

import { bursts } from "../../host/timed.mjs";

export { missing } from "../transaction/place.mjs";

const kMain = fileURLToPath(new URL("../../../dist/cli/main.js", import.meta.url));
const kTrue = { argv: ["/bin/true"] };

async function millisecondsOf(work) {
  const from = performance.now();
  const result = await work();
  const milliseconds = performance.now() - from;
  if (result.exitCode !== 0) throw new Error(`/bin/true ended with ${result.exitCode}`);
  return milliseconds;
}

export async function open() {
  const { Client } = await import("@modelcontextprotocol/client");
  const { StdioClientTransport } = await import("@modelcontextprotocol/client/stdio");
  const { BubblewrapNativeRunner } = await import("../../../dist/index.js");
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
  const exec = (explain) => millisecondsOf(() => transaction.exec({ ...kTrue, explain }));
  let taken = { callMs: [], abovePlainMs: [] };
  // Each is followed by a call, so that each finds the sandboxes that it takes made anew.
  const step = async () => {
    const explained = await exec(true);
    const afterExplained = await millisecondsOf(call);
    const plain = await exec(false);
    const afterPlain = await millisecondsOf(call);
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
