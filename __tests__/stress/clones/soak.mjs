// node --expose-gc __tests__/stress/clones/soak.mjs [RUNS], default 100 000: very many cloned runs with
// faults mixed in (aborts, deadlines, commands that can't start, templates that are killed, runners that
// are closed), each of which has one outcome, one that its fault allows. Exit code 1: one had another, or
// descriptors, threads, processes or resident memory have grown. NATIVE_RUNNER_SEED repeats decisions.
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { makeRunner } from "../../integration/hosts/common.mjs";
import { measureProcess, measureRounds } from "../rounds.mjs";

const say = (text) => process.stdout.write(`${text}\n`);

const [runs = 100_000] = process.argv.slice(2).map(Number);
const kAtOnce = 16;
const kGrowthBytes = 8 * 2 ** 20; // in every one of three rounds
const kKillEveryMs = 2000;
const kCloseEvery = 20_000; // runs
const kLeastCloned = 0.8;

let seed = Number(process.env.NATIVE_RUNNER_SEED ?? Date.now() % 2 ** 31);
say(`seed ${seed}`);

/** An integer from 0 to below `end`; a linear congruential generator, as in random(3). */
function below(end) {
  seed = (seed * 1_103_515_245 + 12_345) % 2 ** 31;
  return Math.floor((seed / 2 ** 31) * end);
}

const workspace = mkdtempSync(join(tmpdir(), "native-runner-soak-"));
let runner;
let kills = 0;
const wrong = new Map();
const kinds = new Map();
const starts = new Map();
const count = (map, key) => map.set(key, (map.get(key) ?? 0) + 1);

const shell = (script) => ({ argv: ["sh", "-c", script] });

// Each: what to run, and the outcomes that it may have. A killed template ends its clones.
const kWork = [
  { weight: 60, make: () => ({ input: { argv: ["/bin/true"] }, may: ["exited"], exitCode: 0 }) },
  { weight: 15, make: () => ({ input: shell("exit 3"), may: ["exited"], exitCode: 3 }) },
  {
    weight: 8,
    make: () => ({
      input: { argv: ["head", "-c", "100000", "/dev/zero"] },
      ...{ may: ["exited"], exitCode: 0, bytes: 100_000 },
    }),
  },
  {
    weight: 5,
    make: () => ({
      input: { ...shell("sleep 60 & sleep 60"), limits: { timeoutMs: 1 + below(60) } },
      may: ["timed-out"],
    }),
  },
  {
    weight: 5,
    make: () => ({
      input: { argv: ["sleep", "60"], signal: AbortSignal.timeout(below(60)) },
      may: ["aborted"],
    }),
  },
  { weight: 4, make: () => ({ input: { argv: ["/no/such/program"] }, may: ["not-found"] }) },
  { weight: 3, make: () => ({ input: shell("kill -9 $$"), may: ["signaled"] }) },
];
const kWeights = kWork.reduce((sum, { weight }) => sum + weight, 0);

function chosen() {
  let rest = below(kWeights);
  return kWork
    .find(({ weight }) => {
      rest -= weight;
      return rest < 0;
    })
    .make();
}

async function one() {
  const { input, may, exitCode, bytes = 0 } = chosen();
  const killsBefore = kills;
  const result = await runner.exec(input);
  const { kind, reason = "" } = result.outcome;
  const [{ start, coldReason }] = result.audits;
  count(kinds, kind);
  count(starts, start === "cold" ? `cold: ${coldReason}` : start);
  // A template's end is that of all its clones, so a run beside one may have been ended.
  const wasKilled = kills > killsBefore && ["signaled", "setup-failed"].includes(kind);
  if (wasKilled) return;
  if (!may.includes(kind)) count(wrong, `${input.argv.join(" ")}: ${kind} ${reason}`);
  else if (kind === "exited" && (result.exitCode !== exitCode || result.stdoutBytes !== bytes)) {
    count(wrong, `${input.argv.join(" ")}: ${result.exitCode}, ${result.stdoutBytes} bytes`);
  }
}

/** [pid, parent] of all processes. */
function processes() {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .flatMap((pid) => {
      try {
        const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
        const parent = Number(stat.slice(stat.lastIndexOf(")") + 2).split(" ")[1]);
        return [[Number(pid), parent]];
      } catch {
        return []; // gone
      }
    });
}

const children = () => processes().filter(([, parent]) => parent === process.pid);

// A template's bwrap or its launcher; with 16 at once some cold run's now and then.
function killOne() {
  const bwraps = children();
  if (bwraps.length === 0) return;
  const [bwrap] = bwraps[below(bwraps.length)];
  const launcher = processes().find(([, parent]) => parent === bwrap);
  kills += 1;
  try {
    process.kill(below(2) === 0 || launcher === undefined ? bwrap : launcher[0], "SIGKILL");
  } catch (error) {
    if (error.code !== "ESRCH") throw error;
  }
}

async function runMany(total) {
  let begun = 0;
  const lane = async () => {
    while (begun < total) {
      begun += 1;
      await one();
    }
  };
  const killer = setInterval(killOne, kKillEveryMs);
  await Promise.all(Array.from({ length: kAtOnce }, lane));
  clearInterval(killer);
}

/** `parts` of a hundred of all there is to do, each runner closed behind its part. */
async function runAll(parts) {
  const start = performance.now();
  let left = Math.ceil((runs * parts) / 100);
  for (; left > 0; left -= kCloseEvery) {
    runner = makeRunner("strict", workspace, { clone: "auto", maxConcurrent: kAtOnce });
    await runMany(Math.min(left, kCloseEvery));
    await runner.close();
    if (children().length > 0) count(wrong, "a closed runner has left a process");
  }
  say(`${parts} % in ${((performance.now() - start) / 1000).toFixed(0)} s`);
}

say(`${runs} runs, ${kAtOnce} at once, in three rounds after a warm-up`);
const { before, after, grownBytes } = await measureRounds({
  warmUp: 4,
  runs: 32,
  runAll,
  measure: measureProcess,
});
rmSync(workspace, { recursive: true });

const reported = (map) => [...map].map(([key, value]) => `${key} ${value}`).join(", ");
say(`outcomes: ${reported(kinds)}`);
say(`starts: ${reported(starts)}`);
say(`templates or cold sandboxes killed: ${kills}`);
say(`resident memory: every round added ${(grownBytes / 2 ** 20).toFixed(1)} MiB or more`);
say(`descriptors ${before.descriptors}, then ${after.descriptors}`);
say(`threads ${before.threads}, then ${after.threads}`);
for (const [label, times] of wrong) say(`WRONG ${times} times: ${label}`);
const settled = [...kinds.values()].reduce((sum, value) => sum + value, 0);
const hasGrown =
  grownBytes > kGrowthBytes ||
  after.descriptors > before.descriptors ||
  after.threads > before.threads;
const isCloned = (starts.get("cloned") ?? 0) > kLeastCloned * settled;
if (!isCloned) say("WRONG: too few of them were cloned");
const isFine = wrong.size === 0 && !hasGrown && isCloned;
say(isFine ? "soak: all as it should be" : "soak: FAILED");
process.exitCode = isFine ? 0 : 1;
