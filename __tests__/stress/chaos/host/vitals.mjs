// What this process holds, measured when nothing runs.
import { readdirSync, readlinkSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";

const kRounds = 200;
const kRoundMs = 50;

/** Targets of the open descriptors, but for sources that Node leaves open when it ends a worker. */
function descriptors() {
  const targets = readdirSync("/proc/self/fd").map((name) => {
    try {
      return readlinkSync(`/proc/self/fd/${name}`);
    } catch {
      return undefined; // the directory itself
    }
  });
  return targets.filter((target) => target !== undefined && !/\.m?js$/.test(target)).sort();
}

const countThreads = () => readdirSync("/proc/self/task").length;

/** Waits until no more is held than at `before`, in vain where something leaks. */
export async function measure(before) {
  for (let round = 0; round < kRounds; round += 1) {
    globalThis.gc();
    await delay(kRoundMs);
    if (before === undefined) break;
    if (descriptors().length <= before.descriptors.length && countThreads() <= before.threads) {
      break;
    }
  }
  return {
    descriptors: descriptors(),
    threads: countThreads(),
    residentBytes: process.memoryUsage.rss(),
  };
}
