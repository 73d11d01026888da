// Rounds of so many commands of all kinds of ends in one session: KIND WORKSPACE RUNS. Prints what this
// host and the session's own processes had after a warm-up, and after.
import { readdirSync, readFileSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";
import { LandlockNativeRunner } from "../../dist/index.js";
import {
  BubblewrapNativeRunner,
  leftovers,
  openDescriptors,
  say,
  threads,
} from "../integration/hosts/common.mjs";
import { measureRounds } from "./rounds.mjs";

const [kind, shadowDir, runs] = process.argv.slice(2);
const kAtOnce = 4;

const runner =
  kind === "landlock"
    ? new LandlockNativeRunner({ shadowDir })
    : new BubblewrapNativeRunner({ shadowDir, prewarm: 0 });
const session = await runner.openSession({ shell: true });

const stdin = new Uint8Array(100_000);
const shell = (script) => ({ argv: ["sh", "-c", script] });
const kCases = [
  { argv: ["true"] },
  shell("A=$((A + 1)); cd ."),
  shell("exit 3"),
  shell("kill -9 $$"),
  { argv: ["bash", "-c", "B=$((B + 1))"] },
  { argv: ["no-such-command"] },
  { argv: ["/etc"] },
  { ...shell("sleep 1000 & setsid sleep 1000 & sleep 1000"), limits: { timeoutMs: 15 } },
  { argv: ["cat"], stdin },
  { argv: ["true"], stdin },
  { ...shell("head -c 300000 /dev/zero"), limits: { maxStdoutBytes: 1000 } },
  { ...shell("(sleep 1000 &) & exit 2"), onStdout: () => {} },
  { ...shell("sleep 1000"), abortAfter: 0 },
  { ...shell("sleep 1000"), abortAfter: 5 },
  { argv: ["true"], cwd: "missing" },
  { argv: [""] },
];

async function runCase(index) {
  const { abortAfter, ...input } = kCases[index % kCases.length];
  const controller = new AbortController();
  const running = session.exec({ ...input, signal: controller.signal });
  if (abortAfter !== undefined) setTimeout(() => controller.abort(), abortAfter);
  return running.then(
    ({ outcome }) => outcome.kind,
    ({ code, message }) => code ?? message,
  );
}

async function runAll(count) {
  const seen = {};
  let next = 0;
  const lane = async () => {
    while (next < count) {
      const end = await runCase(next++);
      seen[end] = (seen[end] ?? 0) + 1;
    }
  };
  await Promise.all(Array.from({ length: kAtOnce }, lane));
  return seen;
}

/** Of a process of the session's: what it has open where that may be seen, and its memory. */
function stateOf(pid) {
  const pages = Number(readFileSync(`/proc/${pid}/statm`, "utf8").split(" ")[1]);
  try {
    return { pages, open: readdirSync(`/proc/${pid}/fd`).length };
  } catch {
    return { pages, open: 0 }; // not ours to look at
  }
}

async function measure() {
  for (let turn = 0; turn < 5; turn += 1) {
    globalThis.gc();
    await delay(20);
  }
  return {
    // In an order that is not that of their numbers, which start anew at some point.
    own: leftovers()
      .map((stat) => stateOf(Number.parseInt(stat, 10)))
      .sort((one, other) => one.open - other.open || one.pages - other.pages),
    descriptors: openDescriptors(),
    threads: threads(),
    residentBytes: process.memoryUsage().rss,
  };
}

const grown = await measureRounds({ warmUp: 400, runs: Number(runs), runAll, measure });
const { stdout } = await session.exec(shell("echo $A"));
await session.close();
say({ ...grown, counted: Number(Buffer.from(stdout)), left: leftovers() });
