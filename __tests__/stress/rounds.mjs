import { setTimeout as delay } from "node:timers/promises";
import { openDescriptors, threads } from "../integration/hosts/common.mjs";

/** What this process has, once what can be collected is; needs --expose-gc. */
export async function measureProcess() {
  for (let turn = 0; turn < 5; turn += 1) {
    globalThis.gc();
    await delay(50);
  }
  return {
    descriptors: openDescriptors(),
    threads: threads(),
    residentBytes: process.memoryUsage.rss(),
  };
}

/**
 * Runs a warm-up and then rounds of `runs`; `measure` is asked before and after each. Of memory only
 * what every round adds is growth: what V8 widens its heap by, once, is in one of them.
 */
export async function measureRounds({ warmUp, runs, runAll, measure }) {
  const kRounds = 3;
  await runAll(warmUp);
  const measured = [await measure()];
  let seen = {};
  for (let round = 0; round < kRounds; round += 1) {
    seen = await runAll(runs);
    measured.push(await measure());
  }
  const bytes = measured.map(({ residentBytes }) => residentBytes);
  const grownBytes = Math.min(...bytes.slice(1).map((after, at) => after - bytes[at]));
  return { before: measured[0], after: measured[kRounds], seen, grownBytes };
}
