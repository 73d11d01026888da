// What the host programs share. They use the built package, as a host application does.
import { readdirSync, readFileSync } from "node:fs";

export {
  BubblewrapNativeRunner,
  LocalNativeRunner,
} from "../../../dist/index.js";

import { BubblewrapNativeRunner, LocalNativeRunner } from "../../../dist/index.js";

/**
 * A runner by the name that tests know it by: "strict" without standing sandboxes, which would
 * be found among what runs leave; "warm" with some. Templates, too: hosts/clones has its own.
 */
export function makeRunner(kind, shadowDir, options = {}) {
  if (kind === "local") return new LocalNativeRunner({ shadowDir, ...options });
  const prewarm = kind === "warm" ? 3 : 0;
  const isolation = kind === "compat" ? "compat" : "strict";
  return new BubblewrapNativeRunner({ shadowDir, isolation, prewarm, clone: "never", ...options });
}

export const say = (value) => process.stdout.write(`${JSON.stringify(value)}\n`);

function statOf(pid) {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, "utf8");
    const [state, parent] = text.slice(text.lastIndexOf(")") + 2).split(" ");
    return { state, parent: Number(parent), text };
  } catch {
    return undefined; // gone
  }
}

/**
 * Living processes that descend from our reaper, but for ourselves: what our runs have left. The
 * reaper is our parent, or further up where something stands between.
 */
export function leftovers() {
  const stats = new Map();
  for (const pid of readdirSync("/proc").map(Number)) {
    const stat = pid > 0 ? statOf(pid) : undefined;
    if (stat !== undefined) stats.set(pid, stat);
  }
  const found = [];
  for (const [pid, { state, text }] of stats) {
    if (pid === process.pid || state === "Z" || state === "X") continue;
    let above = pid;
    while (above > 1 && above !== process.ppid) above = stats.get(above)?.parent ?? 0;
    if (above === process.ppid && pid !== process.ppid) found.push(text.trim());
  }
  return found;
}

/** Descriptors and threads of this process. */
export const openDescriptors = () => readdirSync("/proc/self/fd").length;
export const threads = () => readdirSync("/proc/self/task").length;
