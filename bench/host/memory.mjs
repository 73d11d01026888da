// Resident memory of this process, from /proc/self/status, in bytes.

import { writeFileSync } from "node:fs";

import { childrenOf, statusOf } from "../../scripts/lib/processes.mjs";

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
