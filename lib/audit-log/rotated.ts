/** The files that a log has put aside: PATH.1 is the first, the one with the greatest number the last. */

import { readdirSync } from "node:fs";
import { basename, dirname } from "node:path";

/** Their numbers, the first first. */
export function rotatedNumbers(path: string): number[] {
  const begin = `${basename(path)}.`;
  return readdirSync(dirname(path))
    .filter((name) => name.startsWith(begin))
    .map((name) => name.slice(begin.length))
    .filter((rest) => /^[1-9]\d{0,8}$/.test(rest))
    .map(Number)
    .sort((one, other) => one - other);
}

/** The name, without its directory, of the file that was put aside last; undefined: there is none. */
export function lastRotated(path: string): string | undefined {
  const number = rotatedNumbers(path).at(-1);
  return number === undefined ? undefined : `${basename(path)}.${number}`;
}

/** The name of the next one. */
export function nextRotated(path: string): string {
  return `${basename(path)}.${(rotatedNumbers(path).at(-1) ?? 0) + 1}`;
}
