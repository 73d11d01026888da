// Runs that end by whatever comes first, several at once, for so many seconds: SECONDS WORKSPACE.
import { randomInt } from "node:crypto";
import { readdirSync, readlinkSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";
import { isMainThread, Worker, workerData } from "node:worker_threads";
import { leftovers, makeRunner, say } from "../integration/hosts/common.mjs";

const [seconds, workspace] = isMainThread ? process.argv.slice(2) : workerData;
const kLanes = 8;
const kKinds = ["strict", "warm", "compat", "local"];
const kWarm = kKinds.indexOf("warm");
const kScripts = [
  "exit 0",
  "sleep 0.01",
  "sleep 1000",
  "(setsid sleep 1000 &) & exit 1",
  "sleep 1000 & sleep 1000 & kill -9 $$",
  "yes",
  "yes >&2 & cat",
  "trap '' TERM; while :; do sleep 0.001; done",
  "kill -STOP $$",
  "exec no-such-command",
];
const kExpected = new Set(["exited", "signaled", "timed-out", "aborted", "setup-failed"]);
const pick = (list) => list[randomInt(list.length)];

const until = Date.now() + Number(seconds) * 1000;
const seen = {};
const closing = [];
let unexpected = 0;

async function lane() {
  const runners = kKinds.map((kind) => makeRunner(kind, workspace, { maxConcurrent: 5 }));
  while (Date.now() < until) {
    const controller = new AbortController();
    const running = pick(runners).exec({
      argv: ["sh", "-c", pick(kScripts)],
      stdin: new Uint8Array(randomInt(3) * 50_000),
      limits: { timeoutMs: randomInt(1, 60), maxStdoutBytes: randomInt(3) * 1000 },
      signal: controller.signal,
    });
    if (randomInt(2) === 0) setTimeout(() => controller.abort(), randomInt(0, 60));
    const { outcome } = await running;
    seen[outcome.kind] = (seen[outcome.kind] ?? 0) + 1;
    if (!kExpected.has(outcome.kind)) unexpected += 1;
    if (randomInt(20) === 0) renewWarm(runners);
  }
  renewWarm(runners);
}

/** Closes the warm runner, at whatever its pool and the runs of other lanes are. */
function renewWarm(runners) {
  closing.push(runners[kWarm].close());
  runners[kWarm] = makeRunner("warm", workspace, { maxConcurrent: 5 });
}

async function oneWorker() {
  const worker = new Worker(new URL(import.meta.url), { workerData: [seconds, workspace] });
  await delay(randomInt(50, 300));
  await worker.terminate();
}

async function workers() {
  while (Date.now() < until) await oneWorker();
}

/** All but the sources that Node leaves open when it ends a worker that is loading them. */
function ownDescriptors() {
  const targets = readdirSync("/proc/self/fd").map((name) => {
    try {
      return readlinkSync(`/proc/self/fd/${name}`);
    } catch {
      return ""; // the directory itself
    }
  });
  return targets.filter((target) => !/\.m?js$/.test(target)).length;
}

if (isMainThread) {
  const warm = makeRunner("warm", workspace);
  await warm.warm();
  await warm.close();
  await oneWorker(); // what Node opens once for all workers
  const before = ownDescriptors();
  await Promise.all([...Array.from({ length: kLanes }, lane), workers()]);
  await Promise.all(closing);
  await delay(200);
  say({ seen, unexpected, left: leftovers(), descriptors: ownDescriptors() - before });
} else {
  await Promise.all(Array.from({ length: 3 }, lane));
}
