import fc from "fast-check";
import { expect, test } from "vitest";

import { withHunks } from "../../lib/review/review.js";
import { hunksOf } from "../../web/review/hunk-ranges.js";
import { changesBetween } from "../../web/review/line-changes.js";

const bytes = (text: string) => new TextEncoder().encode(text);
const text = (data: Uint8Array) => new TextDecoder().decode(data);
const hunk = (fromBefore: number, toBefore: number, fromAfter: number, toAfter: number) => ({
  ...{ fromBefore, toBefore, fromAfter, toAfter },
});

test.each([
  ["a\nb\nc\n", "A\nb\nC\n", [hunk(0, 1, 0, 1)], "A\nb\nc\n"],
  ["a\nb\nc\n", "A\nb\nC\n", [hunk(2, 3, 2, 3)], "a\nb\nC\n"],
  ["a", "a\nb", [hunk(1, 1, 1, 2)], "a\nb"],
  ["a\n", "a", [hunk(1, 2, 1, 1)], "a"],
  ["", "x\n", [hunk(0, 0, 0, 1)], "x\n"],
  ["a\r\nb", "a\nb", [], "a\r\nb"],
])("of %j and %j some hunks make %j", (before, after, hunks, expected) => {
  expect(text(withHunks(bytes(before), bytes(after), hunks))).toBe(expected);
});

test.each([
  [[hunk(1, 0, 0, 0)]],
  [[hunk(0, 9, 0, 0)]],
  [[hunk(0, 0, 0, 9)]],
  [[hunk(1, 2, 1, 2), hunk(0, 1, 0, 1)]],
  [[hunk(0, 2, 0, 1), hunk(1, 2, 1, 2)]],
])("hunks that overlap, go back or lie outside are refused (%#)", (hunks) => {
  expect(() => withHunks(bytes("a\nb\n"), bytes("c\nd\n"), hunks)).toThrow(/in order/);
});

const line = fc.constantFrom("", "a", "b", "c", "same", "\r", "\u202e", "é");
const file = fc
  .tuple(fc.array(line, { maxLength: 30 }), fc.boolean())
  .map(([lines, ends]) => `${lines.join("\n")}${ends ? "\n" : ""}`);

test("all hunks that the page finds make one text the other, and none leave it", () => {
  fc.assert(
    fc.property(file, file, (before, after) => {
      const hunks = hunksOf(before, after, changesBetween(before, after));
      expect(text(withHunks(bytes(before), bytes(after), hunks))).toBe(after);
      expect(text(withHunks(bytes(before), bytes(after), []))).toBe(before);
    }),
    { numRuns: 2000 },
  );
});

test("one hunk after the other makes the same as all", () => {
  fc.assert(
    fc.property(file, file, (before, after) => {
      let now = before;
      for (let left = 100; left > 0 && now !== after; left -= 1) {
        const [first] = hunksOf(now, after, changesBetween(now, after));
        if (first === undefined) break;
        now = text(withHunks(bytes(now), bytes(after), [first]));
      }
      expect(now).toBe(after);
    }),
    { numRuns: 300 },
  );
});

test("texts of which most is different, and long ones, are compared in bounded time", () => {
  const many = (seed: number) =>
    Array.from({ length: 20_000 }, (_, at) => String((at * seed) % 19_997)).join("\n");
  const [before, after] = [many(3), many(7)];
  const hunks = hunksOf(before, after, changesBetween(before, after));
  expect(text(withHunks(bytes(before), bytes(after), hunks))).toBe(after);
});
