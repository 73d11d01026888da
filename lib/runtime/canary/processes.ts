import { readdirSync, readFileSync } from "node:fs";

/** Whether a living process has this word among its arguments. A zombie has none. */
export function hasProcess(argument: string): boolean {
  return readdirSync("/proc").some((name) => {
    if (!/^\d+$/.test(name)) return false;
    try {
      return readFileSync(`/proc/${name}/cmdline`, "latin1").split("\0").includes(argument);
    } catch {
      return false; // gone, or hidden from us, as it is when it is not ours
    }
  });
}
