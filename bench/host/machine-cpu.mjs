// The processor time of the whole machine: of the host, of all that it starts, and of the kernel's own
// threads, which take namespaces down after the fact.

import { readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";

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
export async function idleShare() {
  const [busy, wall] = [machineMs(), performance.now()];
  await sleep(kIdleMs);
  return (machineMs() - busy) / (performance.now() - wall);
}

/**
 * Resolves to what `work` resolves to, with what the machine's processors did meanwhile and in
 * `settleMs` behind it, less what they do anyway (`idle`, of idleShare()), as `machineMs`; without it
 * where the machine is too busy to tell.
 */
export async function withMachineCpu(work, settleMs, idle) {
  if (idle > kMostIdle) return work();
  const [busy, wall] = [machineMs(), performance.now()];
  const measured = await work();
  await sleep(settleMs);
  const anyway = idle * (performance.now() - wall);
  return { ...measured, machineMs: machineMs() - busy - anyway };
}
