// npm run soak: very many runs and sessions, none of which is to fail, with what this host has before
// and after: [RUNS [SESSIONS]], default 50 000 and 5 000. Exit code 1: a run did not end as its command
// does, or something has grown.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { makeRunner } from "../integration/hosts/common.mjs";
import { measureProcess, measureRounds } from "./rounds.mjs";

const say = (text) => process.stdout.write(`${text}\n`);

const [runs = 50_000, sessions = 5000] = process.argv.slice(2).map(Number);
const kAtOnce = 4;
const kGrowthBytes = 8 * 2 ** 20; // in every one of three rounds

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

/** The runners are closed first, so that none of their sandboxes counts. */
async function measure() {
  await Promise.all(runners.map((runner) => runner.close()));
  return measureProcess();
}

const anyRun = (number) => check(runners[number % runners.length], number);

/** `count` parts of a hundred of all there is to do. */
async function runAll(count) {
  runners = ["strict", "warm"].map((kind) => makeRunner(kind, workspace));
  const start = performance.now();
  await repeat(Math.ceil((runs * count) / 100), anyRun);
  await repeat(Math.ceil((sessions * count) / 100), openAndUse);
  const seconds = (performance.now() - start) / 1000;
  say(`${count} % in ${seconds.toFixed(0)} s`);
}

say(`${runs} runs and ${sessions} sessions of two commands, in three rounds after a warm-up`);
const rounds = { warmUp: 5, runs: 33, runAll, measure };
const { before, after, grownBytes } = await measureRounds(rounds);
rmSync(workspace, { recursive: true });

say(`resident memory: every round added ${(grownBytes / 2 ** 20).toFixed(1)} MiB or more`);
say(`descriptors ${before.descriptors}, then ${after.descriptors}`);
say(`threads ${before.threads}, then ${after.threads}`);
for (const [label, count] of wrong) say(`WRONG ${count} times: ${label}`);
const hasGrown =
  grownBytes > kGrowthBytes ||
  after.descriptors > before.descriptors ||
  after.threads > before.threads;
say(wrong.size > 0 || hasGrown ? "soak: FAILED" : "soak: all as it should be");
process.exitCode = wrong.size > 0 || hasGrown ? 1 : 0;
