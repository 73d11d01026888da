// Resident memory of this process, from /proc/self/status, in bytes.

import { readdirSync, readFileSync, writeFileSync } from "node:fs";

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

/** Of a process, that may have ended meanwhile: "" then. */
function readOf(pid, file) {
  try {
    return readFileSync(`/proc/${pid}/${file}`, "utf8");
  } catch (error) {
    if (error.code === "ENOENT" || error.code === "ESRCH") return "";
    throw error;
  }
}

function childrenOf(parent) {
  const pids = readdirSync("/proc").filter((name) => /^\d+$/.test(name));
  return pids.filter((pid) => {
    const stat = readOf(pid, "stat");
    return Number(stat.slice(stat.lastIndexOf(")") + 2).split(" ")[1]) === parent;
  });
}

/**
 * Resident bytes (VmRSS: with what they share, counted anew for each) of the processes below this
 * one whose name `counts`.
 */
export function descendantBytes(counts, parent = process.pid) {
  let bytes = 0;
  for (const pid of childrenOf(parent)) {
    const status = readOf(pid, "status");
    const name = /^Name:\s+(.*)$/m.exec(status)?.[1];
    const resident = Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1] ?? 0) * 1024;
    bytes += (counts(name) ? resident : 0) + descendantBytes(counts, Number(pid));
  }
  return bytes;
}

/** Holds `bytes` of Buffers whose pages have all been written to. */
export function touchedBuffers(bytes) {
  const chunk = 64 * 1024 * 1024;
  return Array.from({ length: Math.ceil(bytes / chunk) }, () => Buffer.alloc(chunk, 1));
}
