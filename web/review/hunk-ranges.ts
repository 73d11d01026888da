/** Hunks as ranges of lines, in the server's form. */

import type { Change } from "@codemirror/merge";

import type { Hunk } from "./model.js";

/** Returns the offset of each line; only "\n" ends a line. */
function beginnings(text: string): number[] {
  const starts = [0];
  for (let at = text.indexOf("\n"); at >= 0; at = text.indexOf("\n", at + 1)) starts.push(at + 1);
  return starts;
}

/** Returns the index of the line that contains an offset. */
function lineAt(starts: readonly number[], at: number): number {
  let low = 0;
  let high = starts.length;
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if ((starts[middle] ?? 0) <= at) low = middle;
    else high = middle;
  }
  return low;
}

/** Returns the whole lines in which two texts differ. Changes in the same or neighbouring lines form one hunk. */
export function hunksOf(before: string, after: string, changes: readonly Change[]): Hunk[] {
  const old = beginnings(before);
  const now = beginnings(after);
  const hunks: Hunk[] = [];
  for (const { fromA, toA, fromB, toB } of changes) {
    const isWhole = (starts: readonly number[], from: number, to: number) =>
      starts[lineAt(starts, from)] === from && starts[lineAt(starts, to)] === to;
    const isOfLines = isWhole(old, fromA, toA) && isWhole(now, fromB, toB);
    const end = (starts: readonly number[], to: number) => lineAt(starts, to) + (isOfLines ? 0 : 1);
    const hunk: Hunk = {
      fromBefore: lineAt(old, fromA),
      toBefore: end(old, toA),
      fromAfter: lineAt(now, fromB),
      toAfter: end(now, toB),
    };
    const last = hunks.at(-1);
    if (last && (hunk.fromBefore <= last.toBefore || hunk.fromAfter <= last.toAfter)) {
      last.toBefore = Math.max(last.toBefore, hunk.toBefore);
      last.toAfter = Math.max(last.toAfter, hunk.toAfter);
    } else hunks.push(hunk);
  }
  return hunks;
}
