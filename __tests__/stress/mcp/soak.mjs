// CALLS calls of all kinds of tools by the official client, in rounds; prints what the server had after a
// warm-up, and after each round: its descriptors, its threads, its processes, its memory.
//   node soak.mjs CALLS [PACE]
// PACE: milliseconds from one call's begin to the next's, as an agent has them: then there is one at a time,
// and each round is told on standard error as well. A session of two hours: node soak.mjs 2000 3600
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
const kWarmUp = 400;
const kStanding = 8; // more than are kept standing
const kStoredOutputs = 256; // what the server keeps of outputs, at the most

const calls = Number(process.argv[2] ?? 2000);
const paceMs = Number(process.argv[3] ?? 0);
const isPaced = paceMs > 0;
const kRounds = isPaced ? 20 : 4;
const kAtOnce = isPaced ? 1 : 4;
const top = mkdtempSync(join(tmpdir(), "native-runner-mcp-soak-"));
const [workspace, state] = ["work", "state"].map((name) => mkdtempSync(join(top, name)));
const client = new Client({ name: "soak", version: "1" }, { capabilities: { elicitation: {} } });
let asked = 0;
client.setRequestHandler("elicitation/create", () => {
  asked += 1;
  return { action: "accept", content: { approve: asked % 2 === 0 } };
});
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

let made = 0;
const answers = {};
let isWarm = false;
let due = 0;

async function call(name, input = {}, options = {}) {
  made += 1;
  if (isPaced && isWarm) {
    due = Math.max(due + paceMs, performance.now());
    await delay(due - performance.now());
  }
  const result = await client.callTool({ name, arguments: input }, options);
  const kind = `${name} ${result.isError ? "refused" : "answered"}`;
  answers[kind] = (answers[kind] ?? 0) + 1;
  return result;
}

async function live() {
  const { structuredContent } = await call("start", { command: "echo up; sleep 1000" });
  const id = structuredContent?.process ?? "none"; // another one's discard has come between
  await call("read", { process: id, waitMs: 50 });
  await call("stop", { process: id });
  return call("read", { process: id, waitMs: 0 });
}

async function cancelled() {
  const cancel = new AbortController();
  const options = { signal: cancel.signal, onprogress: () => cancel.abort() };
  return call("run", { command: "echo up; sleep 1000" }, options).catch(() => ({}));
}

async function backToCheckpoint() {
  const { structuredContent } = await call("checkpoint");
  await call("run", { command: "echo more > other" });
  return call("rollback", { id: structuredContent?.id ?? "none" });
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
  backToCheckpoint,
  () => call("run", { command: "cat file", stdin: "x" }),
  () => call("discard"),
];

let next = 0;

async function runAll(count) {
  const enough = made + count;
  const lane = async () => {
    while (made < enough) await kCases[next++ % kCases.length]();
  };
  await Promise.all(Array.from({ length: kAtOnce }, lane));
}

/** Processes below the server's: of sandboxes that run, or stand for the next command. */
function descendants() {
  const children = (pid) => {
    try {
      const threads = readdirSync(`/proc/${pid}/task`);
      return threads.flatMap((thread) =>
        readFileSync(`/proc/${pid}/task/${thread}/children`, "utf8").split(" ").filter(Boolean),
      );
    } catch {
      return []; // it has gone meanwhile
    }
  };
  const below = (pid) => children(pid).reduce((sum, child) => sum + 1 + below(child), 0);
  return below(transport.pid);
}

async function measure() {
  // As many sandboxes stand then, whatever the last call was.
  for (let run = 0; run < kStanding; run += 1) await call("run", { command: "true" });
  for (let turn = 0; turn < 5; turn += 1) {
    process.kill(transport.pid, "SIGUSR2");
    await delay(200);
  }
  const proc = `/proc/${transport.pid}`;
  const resident = /^VmRSS:\s+(\d+) kB/m.exec(readFileSync(`${proc}/status`, "utf8"))?.[1];
  return {
    descriptors: readdirSync(`${proc}/fd`).length,
    threads: readdirSync(`${proc}/task`).length,
    processes: descendants(),
    residentBytes: Number(resident) * 1024,
  };
}

await runAll(kWarmUp);
const large = { command: "seq 1 20000", maxOutputBytes: 0 };
for (let kept = 0; kept < kStoredOutputs; kept += 1) await call("run", large); // its store is full
isWarm = true;
const [begin, warm] = [performance.now(), made];
const measured = [];
for (let round = 0; round <= kRounds; round += 1) {
  if (round > 0) await runAll(calls / kRounds);
  measured.push(await measure());
  if (!isPaced) continue;
  const minutes = Math.round((performance.now() - begin) / 60_000);
  const said = { minutes, calls: made - warm, ...measured.at(-1), answers };
  process.stderr.write(`${JSON.stringify(said)}\n`);
}
const { structuredContent } = await call("run", { command: "echo on" });
await client.close();
rmSync(top, { recursive: true, force: true });
process.stdout.write(`${JSON.stringify({ measured, last: structuredContent.stdout })}\n`);
