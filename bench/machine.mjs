// What the numbers were measured on; nothing that names the machine or its paths.

import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { availableParallelism, cpus, release, totalmem } from "node:os";
import { setTimeout as sleep } from "node:timers/promises";

function transparentHugePages() {
  try {
    const modes = readFileSync("/sys/kernel/mm/transparent_hugepage/enabled", "utf8");
    return /\[(\w+)\]/.exec(modes)?.[1] ?? "unknown";
  } catch {
    return "none";
  }
}

function processorTimes() {
  const total = { idle: 0, all: 0 };
  for (const { times } of cpus()) {
    total.idle += times.idle;
    for (const spent of Object.values(times)) total.all += spent;
  }
  return total;
}

/** The share (0..1) of all processors that others use while we wait for two seconds. */
async function busyShare() {
  const before = processorTimes();
  await sleep(2000);
  const after = processorTimes();
  return 1 - (after.idle - before.idle) / (after.all - before.all);
}

export async function machineFacts(bwrap) {
  return {
    cores: availableParallelism(),
    cpu: cpus()[0]?.model.trim() ?? "unknown",
    memoryGiB: Math.round(totalmem() / 2 ** 30),
    kernel: release().replace(/-.*/, ""), // without what names a build
    node: process.version,
    bwrap: execFileSync(bwrap, ["--version"], { encoding: "utf8" }).trim(),
    transparentHugePages: transparentHugePages(),
    isRoot: process.geteuid() === 0,
    busyBefore: await busyShare(),
  };
}
