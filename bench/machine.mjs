// What the numbers are measured on: the machine and, for every variant that runs bwrap, its command line.

import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { availableParallelism, cpus, release, totalmem } from "node:os";
import { setTimeout as sleep } from "node:timers/promises";

import { BubblewrapNativeRunner } from "../dist/index.js";
import { findProgram } from "./programs.mjs";

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

/** Nothing that names the machine or its paths. */
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

// The bwrap command line that every other variant runs: what our runner itself reports in its
// audit, without the launcher. --as-pid-1 goes with it (bwrap then forks its own init, as it does
// for any other user), and bwrap is looked up once, as our runner does.

const kProbe = "/bin/true";

/** Resolves to { cmd, options, layers }; rejects when the sandbox does not work here. */
export async function strictSandbox(workspace) {
  const runner = new BubblewrapNativeRunner({
    shadowDir: workspace,
    network: "deny",
    prewarm: 0,
    clone: "never",
  });
  const { outcome, audits } = await runner.exec({ argv: [kProbe] });
  if (outcome.kind !== "exited") {
    throw new Error(`the sandbox does not work here: ${outcome.reason ?? outcome.kind}`);
  }
  const { cmd, argv, layers } = audits[0];
  if (argv.at(-2) !== "--" || argv.at(-1) !== kProbe) {
    throw new Error(`expected the audit's argv to end with -- ${kProbe}, got ${argv.join(" ")}`);
  }
  const options = argv.slice(0, -2).filter((argument) => argument !== "--as-pid-1");
  const program = findProgram(cmd);
  if (program === undefined) throw new Error(`${cmd} is not on the PATH`);
  return { cmd: program, options, layers };
}
