// Bursts of something else than runs of a command: `step` resolves to what it took, in ms, and may
// do more that is not measured.

import { monitorEventLoopDelay } from "node:perf_hooks";

import { residentBytes } from "./memory.mjs";

/** What `work` takes, in ms. */
export async function millisecondsOf(work) {
  const from = performance.now();
  await work();
  return performance.now() - from;
}

/** `more` is asked at the end for measurements besides. */
export function bursts(step, more = () => ({})) {
  return async ({ runs }) => {
    const histogram = monitorEventLoopDelay({ resolution: 1 });
    const runMs = [];
    const cpu = process.cpuUsage();
    histogram.enable();
    for (let run = 0; run < runs; run++) runMs.push(await step(run));
    histogram.disable();
    const { user, system } = process.cpuUsage(cpu);
    return {
      runMs,
      cpuMs: (user + system) / 1e3,
      residentBytes: residentBytes(),
      loopP50Ms: histogram.percentile(50) / 1e6,
      loopP99Ms: histogram.percentile(99) / 1e6,
      ...(await more()),
    };
  };
}
