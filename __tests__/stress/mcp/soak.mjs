// CALLS calls of all kinds of tools by the official client, in rounds; prints what the server had after a
// warm-up, and after each round: its descriptors, its threads, its memory, and what it left.
//   node soak.mjs CALLS
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";

const kMain = fileURLToPath(new URL("../../../dist/cli/main.js", import.meta.url));
// The server's own heap is looked at once it is collected: SIGUSR2 asks for that.
const kCollector = "data:text/javascript,process.on('SIGUSR2', () => globalThis.gc());";
const kRounds = 4;
const kAtOnce = 4;
const kWarmUp = 400;

const calls = Number(process.argv[2] ?? 2000);
const top = mkdtempSync(join(tmpdir(), "native-runner-mcp-soak-"));
const [workspace, state] = ["work", "state"].map((name) => mkdtempSync(join(top, name)));
const client = new Client({ name: "soak", version: "1" }, { capabilities: { elicitation: {} } });
client.setRequestHandler("elicitation/create", () => ({
  ...{ action: "accept", content: { approve: false } },
}));
const transport = new StdioClientTransport({
  command: process.execPath,
  args: [
    "--expose-gc",
    "--import",
    kCollector,
    kMain,
    "mcp",
    "--workspace",
    workspace,
    "--state-directory",
    state,
  ],
  stderr: "ignore",
});
await client.connect(transport);

const call = (name, input = {}, options = {}) =>
  client.callTool({ name, arguments: input }, options);

async function live() {
  const { structuredContent } = await call("start", { command: "echo up; sleep 1000" });
  const { process: id } = structuredContent;
  await call("read", { process: id, waitMs: 50 });
  await call("stop", { process: id });
  return call("read", { process: id, waitMs: 0 });
}

async function cancelled() {
  const cancel = new AbortController();
  const options = { signal: cancel.signal, onprogress: () => cancel.abort() };
  return call("run", { command: "echo up; sleep 1000" }, options).catch(() => ({}));
}

const kCases = [
  () => call("run", { argv: ["/bin/true"] }),
  () => call("run", { command: "echo $RANDOM > file; seq 1 20000" }),
  () => call("run", { command: "cat /var/log/nothing /root/x; exit 3" }),
  () => call("run", { command: "sleep 1000", timeoutMs: 20 }),
  () => call("run", { command: "true", unknown: 1 }),
  () => call("changes"),
  () => call("diff"),
  () => call("commit"),
  live,
  cancelled,
];

async function runAll(count) {
  let next = 0;
  const lane = async () => {
    while (next < count) await kCases[next++ % kCases.length]();
  };
  await Promise.all(Array.from({ length: kAtOnce }, lane));
}

async function measure() {
  for (let turn = 0; turn < 5; turn += 1) {
    process.kill(transport.pid, "SIGUSR2");
    await delay(200);
  }
  const proc = `/proc/${transport.pid}`;
  const resident = /^VmRSS:\s+(\d+) kB/m.exec(readFileSync(`${proc}/status`, "utf8"))?.[1];
  return {
    descriptors: readdirSync(`${proc}/fd`).length,
    threads: readdirSync(`${proc}/task`).length,
    residentBytes: Number(resident) * 1024,
  };
}

await runAll(kWarmUp);
const measured = [];
for (let round = 0; round <= kRounds; round += 1) {
  if (round > 0) await runAll(calls / kRounds);
  measured.push(await measure());
}
const { structuredContent } = await call("run", { command: "echo on" });
await client.close();
rmSync(top, { recursive: true, force: true });
process.stdout.write(`${JSON.stringify({ measured, last: structuredContent.stdout })}\n`);
