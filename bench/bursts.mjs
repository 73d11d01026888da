// Bursts, as a variant's own process measures them, and that process' resident memory. Times are in ms.

import { writeFileSync } from "node:fs";
import { monitorEventLoopDelay, performance } from "node:perf_hooks";

import { childrenOf, statusOf } from "../scripts/lib/processes.mjs";

// Resident memory of this process, from /proc/self/status, in bytes.

function statusBytes(field) {
  const kibibytes = statusOf("self", field);
  if (kibibytes === undefined) throw new Error(`/proc/self/status has no ${field}`);
  return Number(kibibytes) * 1024;
}

export const residentBytes = () => statusBytes("VmRSS");
export const peakResidentBytes = () => statusBytes("VmHWM");

/** Starts the peak (VmHWM) anew from what is resident now; see proc(5), clear_refs. */
export function resetPeak() {
  writeFileSync("/proc/self/clear_refs", "5");
}

/**
 * Resident bytes (VmRSS: with what they share, counted anew for each) of the processes below this
 * one whose name `counts`.
 */
export function descendantBytes(counts, parent = process.pid) {
  let bytes = 0;
  for (const pid of childrenOf(parent)) {
    const resident = Number(statusOf(pid, "VmRSS") ?? 0) * 1024; // none of one that has ended meanwhile
    bytes += (counts(statusOf(pid, "Name")) ? resident : 0) + descendantBytes(counts, pid);
  }
  return bytes;
}

/** Holds `bytes` of Buffers whose pages have all been written to. */
export function touchedBuffers(bytes) {
  const chunk = 64 * 1024 * 1024;
  return Array.from({ length: Math.ceil(bytes / chunk) }, () => Buffer.alloc(chunk, 1));
}

// One measured burst: `runs` runs of one command, `atOnce` of them in flight.

const kKeep = 1024 * 1024;
const kDefaultLimits = { maxStdoutBytes: kKeep, maxStderrBytes: kKeep, timeoutMs: 60_000 };

function check(result, expected) {
  const kept = result.stdout.length;
  if (result.exitCode !== 0 || kept !== expected.kept || result.stdoutBytes !== expected.written) {
    const stderr = Buffer.from(result.stderr).toString();
    throw new Error(
      `a run did not do the work: exit code ${result.exitCode}, kept ${kept} of ` +
        `${result.stdoutBytes} bytes; ${stderr}`,
    );
  }
}

/**
 * `watchLoop` adds the delay of the event loop: the histogram of monitorEventLoopDelay with
 * resolution 1, whose samples contain the timer's own 1 ms, so an idle loop shows just over 1.
 * `ready` says when a variant that keeps sandboxes standing is waited for, untimed, until it has
 * made them all: before the burst ("burst"), before each run ("run"), or not at all. `sandboxBytes`
 * asks a variant at the end, untimed, what a sandbox takes that stands or runs.
 */
export async function burst(variant, request) {
  const { argv, limits, expected, runs, atOnce, watchLoop, ready } = request;
  const input = { argv, limits: { ...kDefaultLimits, ...limits } };
  const output = expected ?? { kept: 0, written: 0 };
  const isReady = variant.ready ?? (() => {});
  const runMs = [];
  let started = 0;
  const lane = async () => {
    while (started < runs) {
      started += 1;
      if (ready === "run") await isReady();
      const from = performance.now();
      const result = await variant.exec(input);
      runMs.push(performance.now() - from);
      check(result, output);
    }
  };

  if (ready === "burst") await isReady();
  const histogram = watchLoop ? monitorEventLoopDelay({ resolution: 1 }) : undefined;
  resetPeak();
  const resident = residentBytes();
  const cpu = process.cpuUsage();
  const wall = performance.now();
  histogram?.enable();
  await Promise.all(Array.from({ length: atOnce }, lane));
  histogram?.disable();
  const wallMs = performance.now() - wall;
  const { user, system } = process.cpuUsage(cpu);
  const measured = {
    wallMs,
    runMs,
    cpuMs: (user + system) / 1e3,
    residentBytes: residentBytes(),
    peakGrowthBytes: peakResidentBytes() - resident,
    loopP50Ms: histogram && histogram.percentile(50) / 1e6,
    loopP99Ms: histogram && histogram.percentile(99) / 1e6,
  };
  // What it still has to make must not burden the variant that comes next.
  await isReady();
  if (request.sandboxBytes) measured.sandboxBytes = await variant.sandboxBytes();
  return measured;
}

// Bursts of something else than runs of a command: `step` resolves to what it took, in ms, and may
// do more that is not measured.

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
