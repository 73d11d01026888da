/** Differences between two texts: first by lines, which is fast for large texts, then within lines. */

import { Change, presentableDiff } from "@codemirror/merge";
import { diffArrays } from "diff";

/** Most differing lines for the minimal diff, which is too slow beyond; then all between is one change. */
const kMostEdits = 4000;
const kMostMs = 1500;
/** Most characters of a passage in which single words are compared. */
const kMostWithin = 20_000;
const kWithin = { scanLimit: 300, timeout: 100 };

/** Returns the lines of a text with their ends. */
const linesOf = (text: string) => text.split(/(?<=\n)/);

/** Returns the number of common lines at the beginning. */
function commonLines(one: readonly string[], other: readonly string[]): number {
  const most = Math.min(one.length, other.length);
  let count = 0;
  while (count < most && one[count] === other[count]) count += 1;
  return count;
}

const lengthOf = (lines: readonly string[]) => lines.reduce((sum, { length }) => sum + length, 0);

/** Returns replaced lines as ranges of characters. */
function lineChanges(before: readonly string[], after: readonly string[], start: number): Change[] {
  if (before.length === 0 && after.length === 0) return [];
  const whole = new Change(start, start + lengthOf(before), start, start + lengthOf(after));
  if (before.length === 0 || after.length === 0) return [whole];
  const options = { maxEditLength: kMostEdits, timeout: kMostMs };
  const parts = diffArrays([...before], [...after], options);
  if (parts === undefined) return [whole];
  const changes: Change[] = [];
  let a = start;
  let b = start;
  let open: { a: number; b: number } | undefined;
  const close = () => {
    if (open !== undefined) changes.push(new Change(open.a, a, open.b, b));
    open = undefined;
  };
  for (const { added, removed, value } of parts) {
    const length = lengthOf(value);
    if (added || removed) open ??= { a, b };
    else close();
    if (!added) a += length;
    if (!removed) b += length;
  }
  close();
  return changes;
}

/** Returns the differing words within changed lines. */
function within(before: string, after: string, change: Change): readonly Change[] {
  const { fromA, toA, fromB, toB } = change;
  const isLong = toA - fromA > kMostWithin || toB - fromB > kMostWithin;
  if (isLong || fromA === toA || fromB === toB) return [change];
  const inner = presentableDiff(before.slice(fromA, toA), after.slice(fromB, toB), kWithin);
  return inner.map(
    (each) =>
      new Change(each.fromA + fromA, each.toA + fromA, each.fromB + fromB, each.toB + fromB),
  );
}

function found(before: string, after: string): readonly Change[] {
  const one = linesOf(before);
  const other = linesOf(after);
  const head = commonLines(one, other);
  const tail = commonLines(one.slice(head).reverse(), other.slice(head).reverse());
  const changes = lineChanges(
    one.slice(head, one.length - tail),
    other.slice(head, other.length - tail),
    lengthOf(one.slice(0, head)),
  );
  return changes.flatMap((change) => within(before, after, change));
}

let last: { before: string; after: string; changes: readonly Change[] } | undefined;

/** Returns the changes, cached for the last pair of texts: editor and hunks request them in turn. */
export function changesBetween(before: string, after: string): readonly Change[] {
  if (last?.before !== before || last.after !== after) {
    last = { before, after, changes: found(before, after) };
  }
  return last.changes;
}
