// Resident memory of this process, from /proc/self/status, in bytes.

import { readFileSync, writeFileSync } from "node:fs";

function statusBytes(field) {
  const match = new RegExp(`^${field}:\\s+(\\d+) kB$`, "m").exec(
    readFileSync("/proc/self/status", "utf8"),
  );
  if (match === null) throw new Error(`/proc/self/status has no ${field}`);
  return Number(match[1]) * 1024;
}

export const residentBytes = () => statusBytes("VmRSS");
export const peakResidentBytes = () => statusBytes("VmHWM");

/** Starts the peak (VmHWM) anew from what is resident now; see proc(5), clear_refs. */
export function resetPeak() {
  writeFileSync("/proc/self/clear_refs", "5");
}

/** Holds `bytes` of Buffers whose pages have all been written to. */
export function touchedBuffers(bytes) {
  const chunk = 64 * 1024 * 1024;
  return Array.from({ length: Math.ceil(bytes / chunk) }, () => Buffer.alloc(chunk, 1));
}
