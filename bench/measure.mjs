// Measures one point of a scenario: its variants in turn, each round beginning with another one
// (A B C, B C A ...), a warm-up round of a quarter of the runs first.

import { setTimeout as sleep } from "node:timers/promises";

import { Host } from "./host/host.mjs";
import { idleShare, withMachineCpu } from "./host/machine-cpu.mjs";
import { openFloor } from "./variants/floor.mjs";
import { kVariants } from "./variants/index.mjs";

// The kernel takes namespaces down after the fact; one variant's must not burden the next.
const kSettleMs = 100;
const kWarmUp = { argv: ["/bin/true"], runs: 2, atOnce: 1 };

export function openVariant(name, setup, holdBytes = 0) {
  const { module, options } = kVariants[name];
  if (module === undefined) return openFloor({ ...setup, ...options });
  return Host.open(module, { ...setup, ...options }, holdBytes);
}

const rotated = (list, by) => list.map((_, i) => list[(i + by) % list.length]);

function requestFor(name, { request, shares = {} }, runs) {
  const share = shares[name] ?? kVariants[name].share ?? 1;
  return { ...request, runs: Math.max(1, Math.round(runs * share)) };
}

// For what must not see traces of an earlier run, such as peak memory: a process for each burst.
async function measureFresh(scenario, { rounds, runs }, setup, progress) {
  const results = new Map(scenario.variants.map((name) => [name, []]));
  for (let round = 0; round < rounds; round++) {
    for (const name of rotated(scenario.variants, round)) {
      const host = await openVariant(name, setup, scenario.holdBytes);
      await host.burst(kWarmUp);
      await sleep(kSettleMs);
      results.get(name).push(await host.burst(requestFor(name, scenario, runs)));
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
  const burst = async (name, amount) => {
    await sleep(kSettleMs);
    const one = () => hosts.get(name).burst(requestFor(name, scenario, amount));
    return scenario.machineCpu ? withMachineCpu(one, kSettleMs, idle) : one();
  };
  for (const name of scenario.variants) await burst(name, Math.ceil(runs / 4));
  for (let round = 0; round < rounds; round++) {
    if (scenario.machineCpu) {
      await sleep(kSettleMs);
      idle = await idleShare();
    }
    for (const name of rotated(scenario.variants, round)) {
      results.get(name).push(await burst(name, runs));
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
