// Measures one point of a scenario: its variants in turn, each round beginning with another one
// (A B C, B C A ...), a warm-up round of a quarter of the runs first.

import { fork } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";

import { kVariants } from "./subjects/index.mjs";

const kMain = fileURLToPath(new URL("./host.mjs", import.meta.url));

/** A variant in a Node process of its own, driven one burst at a time from the suite's process. */
class Host {
  #child;

  constructor(child) {
    this.#child = child;
  }

  /** Starts a host for a variant; resolves when it is ready for bursts. */
  static async open(name, setup, holdBytes = 0) {
    const { subject } = kVariants[name];
    const host = new Host(fork(kMain, [JSON.stringify({ subject, name, setup, holdBytes })]));
    await host.#answer();
    return host;
  }

  /** One burst's measurements; see bursts.mjs for the request. */
  burst(request) {
    return this.#ask(request);
  }

  /** One run; resolves to { exitCode, stdout, stderr }, both as text. */
  tell(argv) {
    return this.#ask({ tell: argv });
  }

  async close() {
    const ended = once(this.#child, "exit");
    this.#child.disconnect();
    await ended;
  }

  async #ask(request) {
    this.#child.send(request);
    const { answer, error } = await this.#answer();
    if (error !== undefined) throw new Error(error);
    return answer;
  }

  async #answer() {
    const ending = new AbortController();
    const { signal } = ending;
    const exit = once(this.#child, "exit", { signal }).then(([code]) => {
      throw new Error(`a benchmark host ended with ${code}`);
    });
    try {
      const [message] = await Promise.race([once(this.#child, "message", { signal }), exit]);
      return message;
    } finally {
      exit.catch(() => {});
      ending.abort();
    }
  }
}

// The processor time of the whole machine: of the host, of all that it starts, and of the kernel's own
// threads, which take namespaces down after the fact.

const kAccount = "/sys/fs/cgroup/cpuacct/cpuacct.usage";
const kTickMs = 10; // USER_HZ is 100 wherever Linux runs
const kIdleMs = 400;
// Where others have more than this share of a processor, what they would have had can't be told.
const kMostIdle = 0.3;
// A container may have an account of its own, which then lacks the kernel's threads.
const kWholeShare = 0.9;

function ticksMs() {
  const [user, nice, system, , , irq, softIrq] = readFileSync("/proc/stat", "utf8")
    .split("\n", 1)[0]
    .split(/\s+/)
    .slice(1)
    .map(Number);
  return (user + nice + system + irq + softIrq) * kTickMs;
}

const accountMs = () => Number(readFileSync(kAccount, "utf8")) / 1e6;

/** To the nanosecond where the machine has an account of all its tasks, else by the tick. */
function chosenClock() {
  try {
    if (accountMs() > kWholeShare * ticksMs()) return accountMs;
  } catch {
    // not mounted: cgroup v2 counts no kernel threads
  }
  return ticksMs;
}

const machineMs = chosenClock();

/** What the machine does in a millisecond while nothing is measured, in ms. */
async function idleShare() {
  const [busy, wall] = [machineMs(), performance.now()];
  await sleep(kIdleMs);
  return (machineMs() - busy) / (performance.now() - wall);
}

/**
 * Resolves to what `work` resolves to, with what the machine's processors did meanwhile and in
 * `settleMs` behind it, less what they do anyway (`idle`, of idleShare()), as `machineMs`; without it
 * where the machine is too busy to tell.
 */
async function withMachineCpu(work, settleMs, idle) {
  if (idle > kMostIdle) return work();
  const [busy, wall] = [machineMs(), performance.now()];
  const measured = await work();
  await sleep(settleMs);
  const anyway = idle * (performance.now() - wall);
  return { ...measured, machineMs: machineMs() - busy - anyway };
}

// The kernel takes namespaces down after the fact; one variant's must not burden the next.
const kSettleMs = 100;
const kWarmUp = { argv: ["/bin/true"], runs: 2, atOnce: 1 };

export function openVariant(name, setup, holdBytes = 0) {
  const { openHere, options } = kVariants[name];
  if (openHere !== undefined) return openHere({ ...setup, ...options });
  return Host.open(name, setup, holdBytes);
}

const rotated = (list, by) => list.map((_, i) => list[(i + by) % list.length]);

function requestFor(name, { request, shares = {} }, runs) {
  const share = shares[name] ?? kVariants[name].share ?? 1;
  return { ...request, runs: Math.max(1, Math.round(runs * share)) };
}

/**
 * Measures a burst; another tool that fails in the midst of a scenario, as some do where several of it run at once, is
 * left out of that, with its reason, and the rest goes on.
 */
async function burstOf(name, results, measured) {
  try {
    return await measured();
  } catch (error) {
    if (kVariants[name].kind !== "peer") throw error;
    const [why] = String(error.message).split("\n");
    console.log(`left out of this scenario: ${kVariants[name].title}: ${why}`);
    results.delete(name);
    return undefined;
  }
}

// For what must not see traces of an earlier run, such as peak memory: a process for each burst.
async function measureFresh(scenario, { rounds, runs }, setup, progress) {
  const results = new Map(scenario.variants.map((name) => [name, []]));
  for (let round = 0; round < rounds; round++) {
    for (const name of rotated([...results.keys()], round)) {
      const host = await openVariant(name, setup, scenario.holdBytes);
      const measured = await burstOf(name, results, async () => {
        await host.burst(kWarmUp);
        await sleep(kSettleMs);
        return host.burst(requestFor(name, scenario, runs));
      });
      results.get(name)?.push(measured);
      await host.close();
    }
    progress(round + 1, rounds);
  }
  return results;
}

async function measureStanding(scenario, { rounds, runs }, setup, progress) {
  const results = new Map(scenario.variants.map((name) => [name, []]));
  const hosts = new Map();
  for (const name of scenario.variants) {
    hosts.set(name, await openVariant(name, setup, scenario.holdBytes));
  }
  let idle = 0;
  const burst = (name, amount) =>
    burstOf(name, results, async () => {
      await sleep(kSettleMs);
      const one = () => hosts.get(name).burst(requestFor(name, scenario, amount));
      return scenario.machineCpu ? withMachineCpu(one, kSettleMs, idle) : one();
    });
  for (const name of scenario.variants) await burst(name, Math.ceil(runs / 4));
  for (let round = 0; round < rounds; round++) {
    if (scenario.machineCpu) {
      await sleep(kSettleMs);
      idle = await idleShare();
    }
    for (const name of rotated([...results.keys()], round)) {
      const measured = await burst(name, runs);
      results.get(name)?.push(measured);
    }
    progress(round + 1, rounds);
  }
  for (const host of hosts.values()) await host.close();
  return results;
}

/** Resolves to a Map of the variants' names to their measured bursts, one for each round. */
export function measure(scenario, size, setup, progress) {
  const run = scenario.fresh ? measureFresh : measureStanding;
  return run(scenario, scenario.sizes[size], setup, progress);
}
