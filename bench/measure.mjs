// Runs one scenario: its variants in turn (A B C A B C ...), a warm-up round first.

import { setTimeout as sleep } from "node:timers/promises";

import { Host } from "./host/host.mjs";
import { openFloor } from "./variants/floor.mjs";
import { kVariants } from "./variants/index.mjs";

// The kernel takes namespaces down after the fact; one variant's must not burden the next.
const kSettleMs = 100;
const kWarmUp = { argv: ["/bin/true"], runs: 2, atOnce: 1 };

function openVariant(name, scenario, setup) {
  const { module } = kVariants[name];
  if (module === undefined) return openFloor(setup);
  return Host.open(module, setup, scenario.holdBytes);
}

// For what must not see traces of an earlier run, such as peak memory: a process for each burst.
async function measureFresh(scenario, request, rounds, setup, progress) {
  const results = new Map(scenario.variants.map((name) => [name, []]));
  for (let round = 0; round < rounds; round++) {
    for (const name of scenario.variants) {
      const host = await openVariant(name, scenario, setup);
      await host.burst(kWarmUp);
      await sleep(kSettleMs);
      results.get(name).push(await host.burst(request));
      await host.close();
    }
    progress(round + 1, rounds);
  }
  return results;
}

async function measureStanding(scenario, request, rounds, setup, progress) {
  const results = new Map(scenario.variants.map((name) => [name, []]));
  const hosts = new Map();
  for (const name of scenario.variants) hosts.set(name, await openVariant(name, scenario, setup));
  for (let round = 0; round <= rounds; round++) {
    for (const [name, host] of hosts) {
      await sleep(kSettleMs);
      const measured = await host.burst(request);
      if (round > 0) results.get(name).push(measured);
    }
    progress(round, rounds);
  }
  for (const host of hosts.values()) await host.close();
  return results;
}

/** Resolves to a Map of the variants' names to their measured bursts, one for each round. */
export function measure(scenario, size, setup, progress) {
  const { rounds, runs } = scenario.sizes[size];
  const request = { ...scenario.request, runs };
  const run = scenario.fresh ? measureFresh : measureStanding;
  return run(scenario, request, rounds, setup, progress);
}
