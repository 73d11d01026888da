import type { Entry, FileEntry } from "../content/entry.js";
import { comparePaths } from "../content/paths.js";

/**
 * Files in the order in which they were written. They get the times at which they arrive, by the clock
 * of the machine that they arrive at; so what was newer stays newer, whatever the other clock says.
 */
export function inWriteOrder(entries: readonly Entry[]): FileEntry[] {
  return entries
    .flatMap((entry) => (entry.type === "file" ? [entry] : []))
    .sort((one, other) => one.mtimeUs - other.mtimeUs || comparePaths(one.path, other.path));
}
