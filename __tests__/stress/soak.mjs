// npm run soak: very many runs and sessions, none of which is to fail, with what this host has before
// and after: [RUNS [SESSIONS]], default 50 000 and 5 000. Exit code 1: a run did not end as its command
// does, or something has grown.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { makeRunner, openDescriptors, threads } from "../integration/hosts/common.mjs";

const say = (text) => process.stdout.write(`${text}\n`);

const [runs = 50_000, sessions = 5000] = process.argv.slice(2).map(Number);
const kAtOnce = 4;
const kWarmUp = 500;
const kGrowthBytes = 16 * 2 ** 20;

const workspace = mkdtempSync(join(tmpdir(), "native-runner-soak-"));
let runners = [];
const kScripts = [
  ["true", 0],
  ["exit 3", 3],
  ["head -c 100000 /dev/zero", 0],
];

/** What did not end as it should, by how it ended. */
const wrong = new Map();

function note(label) {
  wrong.set(label, (wrong.get(label) ?? 0) + 1);
}

async function check(runner, number) {
  const [script, exitCode] = kScripts[number % kScripts.length];
  const result = await runner.exec({ argv: ["sh", "-c", script] });
  const { kind, reason = "" } = result.outcome;
  if (kind !== "exited" || result.exitCode !== exitCode) note(`${kind} ${reason}`);
}

async function openAndUse(number) {
  const session = await runners[0].openSession({ shell: number % 2 === 0 });
  await check(session, number);
  await check(session, number + 1);
  await session.close();
}

async function repeat(count, use) {
  let next = 0;
  const lane = async () => {
    while (next < count) await use(next++).catch(({ message }) => note(message));
  };
  await Promise.all(Array.from({ length: kAtOnce }, lane));
}

async function measure() {
  await delay(100);
  globalThis.gc();
  return {
    descriptors: openDescriptors(),
    threads: threads(),
    residentBytes: process.memoryUsage.rss(),
  };
}

async function timed(label, count, use) {
  const start = performance.now();
  await repeat(count, use);
  const rate = (count * 1000) / (performance.now() - start);
  say(`${count} ${label}: ${rate.toFixed(0)} a second`);
}

/** With runners that are closed again, so that none of their sandboxes counts. */
async function measureAfter(use) {
  runners = ["strict", "warm"].map((kind) => makeRunner(kind, workspace));
  await use();
  await Promise.all(runners.map((runner) => runner.close()));
  return measure();
}

say(`${runs} runs and ${sessions} sessions`); // opens what Node has for its output
const anyRun = (number) => check(runners[number % runners.length], number);
const before = await measureAfter(async () => {
  await repeat(kWarmUp, anyRun);
  await repeat(kWarmUp / 10, openAndUse);
});
const after = await measureAfter(async () => {
  await timed("runs", runs, anyRun);
  await timed("sessions of two commands", sessions, openAndUse);
});
rmSync(workspace, { recursive: true });

const grown = after.residentBytes - before.residentBytes;
const perCall = (grown / (runs + sessions)).toFixed(0);
say(`resident memory grew by ${(grown / 2 ** 20).toFixed(1)} MiB, ${perCall} bytes each`);
say(`descriptors ${before.descriptors}, then ${after.descriptors}`);
say(`threads ${before.threads}, then ${after.threads}`);
for (const [label, count] of wrong) say(`WRONG ${count} times: ${label}`);
const hasGrown =
  grown > kGrowthBytes || after.descriptors > before.descriptors || after.threads > before.threads;
say(wrong.size > 0 || hasGrown ? "soak: FAILED" : "soak: all as it should be");
process.exitCode = wrong.size > 0 || hasGrown ? 1 : 0;
