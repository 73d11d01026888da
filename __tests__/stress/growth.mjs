// Rounds of so many runs of all kinds of ends: WORKSPACE RUNS. Prints what this host had after a warm-up,
// and after.
import { setTimeout as delay } from "node:timers/promises";
import {
  leftovers,
  makeRunner,
  openDescriptors,
  say,
  threads,
} from "../integration/hosts/common.mjs";
import { measureRounds } from "./rounds.mjs";

const [workspace, runs] = process.argv.slice(2);
const kAtOnce = 6;

const runners = {
  strict: makeRunner("strict", workspace),
  warm: undefined, // one for each count
  compat: makeRunner("compat", workspace),
  local: makeRunner("local", workspace),
  missing: makeRunner("strict", "/no/such/workspace"),
  unbound: makeRunner("strict", workspace, { roBinds: ["/no/such/bind"] }),
  bwrapless: makeRunner("strict", workspace, { bwrapPath: "/no/such/bwrap" }),
};
const stdin = new Uint8Array(100_000);
const shell = (script) => ({ argv: ["sh", "-c", script] });
const kCases = [
  ["strict", { argv: ["true"] }],
  ["strict", shell("exit 3")],
  ["strict", shell("kill -9 $$")],
  ["strict", { argv: ["no-such-command"] }],
  ["strict", { argv: ["/etc"] }],
  ["strict", { ...shell("sleep 1000 & sleep 1000"), limits: { timeoutMs: 15 } }],
  ["strict", { argv: ["cat"], stdin }],
  ["strict", { argv: ["true"], stdin }],
  ["strict", { ...shell("head -c 300000 /dev/zero"), limits: { maxStdoutBytes: 1000 } }],
  ["strict", { ...shell("head -c 300000 /dev/zero"), onStdout: () => {} }],
  ["strict", { ...shell("sleep 1000"), abortAfter: 0 }],
  ["strict", { ...shell("sleep 1000"), abortAfter: 8 }],
  [
    "strict",
    {
      ...shell("echo x"),
      onStdout: () => {
        throw new Error("on purpose");
      },
    },
  ],
  ["strict", { argv: ["true"], cwd: "missing" }],
  ["strict", { argv: ["true"], cwd: "../.." }],
  ["strict", { argv: [""] }],
  ["warm", { argv: ["true"] }],
  ["warm", { argv: ["cat"], stdin }],
  ["warm", { argv: ["true"], cwd: "missing" }],
  ["warm", { ...shell("sleep 1000 & sleep 1000"), limits: { timeoutMs: 15 } }],
  ["warm", { ...shell("sleep 1000"), abortAfter: 2 }],
  ["compat", shell("sleep 1000 & exit 2")],
  ["local", shell("(sleep 1000 &) & exit 2")],
  ["local", { argv: ["no-such-command"] }],
  ["missing", { argv: ["true"] }],
  ["unbound", { argv: ["true"] }],
  ["bwrapless", { argv: ["true"] }],
];

async function runCase(index) {
  const [kind, { abortAfter, ...input }] = kCases[index % kCases.length];
  const controller = new AbortController();
  const running = runners[kind].exec({ ...input, signal: controller.signal });
  if (abortAfter !== undefined) setTimeout(() => controller.abort(), abortAfter);
  return running.then(
    ({ outcome }) => outcome.kind,
    ({ code, message }) => code ?? message,
  );
}

async function runAll(count) {
  const seen = {};
  let next = 0;
  runners.warm = makeRunner("warm", workspace);
  const lane = async () => {
    while (next < count) {
      const kind = await runCase(next++);
      seen[kind] = (seen[kind] ?? 0) + 1;
    }
  };
  await Promise.all(Array.from({ length: kAtOnce }, lane));
  await runners.warm.close();
  return seen;
}

async function measure() {
  for (let i = 0; i < 5; i += 1) {
    globalThis.gc?.();
    await delay(50);
  }
  return {
    descriptors: openDescriptors(),
    threads: threads(),
    residentBytes: process.memoryUsage.rss(),
    processes: leftovers(),
  };
}

say(await measureRounds({ warmUp: 600, runs: Number(runs), runAll, measure }));
