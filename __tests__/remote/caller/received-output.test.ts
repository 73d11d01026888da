/** Output that comes in any order, and more than once, is given out once and in order. */

import fc from "fast-check";
import { expect, test } from "vitest";

import { ReceivedOutput } from "../../../lib/remote/caller/remote-run.js";

/** Pieces of a stream, in the order in which they come, some of them twice. */
const arrivals = fc.array(fc.integer({ min: 1, max: 9 }), { maxLength: 20 }).chain((lengths) => {
  let at = 0;
  const pieces = lengths.map((length) => {
    at += length;
    return {
      at: at - length,
      bytes: Uint8Array.from({ length }, (_, n) => (at - length + n) % 251),
    };
  });
  const twice = fc.subarray(pieces).chain((again) => {
    const all = [...pieces, ...again];
    return fc.shuffledSubarray(all, { minLength: all.length, maxLength: all.length });
  });
  return fc.record({ total: fc.constant(at), order: twice });
});

function collected() {
  const got: number[] = [];
  const output = new ReceivedOutput((bytes) => got.push(...bytes));
  return { got, output };
}

test("comes whole, whatever order its pieces come in", () => {
  fc.assert(
    fc.property(arrivals, ({ total, order }) => {
      const { got, output } = collected();
      for (const { at, bytes } of order) {
        output.add(at, bytes);
        expect(output.length).toBe(got.length);
        expect(got).toEqual(Array.from({ length: got.length }, (_, n) => n % 251));
      }
      expect(output.length).toBe(total);
    }),
    { numRuns: 500 },
  );
});

test("stops before what is missing, and goes on when that has come", () => {
  fc.assert(
    fc.property(arrivals, fc.nat(), ({ total, order }, which) => {
      fc.pre(total > 0);
      const places = [...new Set(order.map(({ at }) => at))].sort((a, b) => a - b);
      const missing = places[which % places.length] ?? 0;
      const { got, output } = collected();
      for (const { at, bytes } of order) if (at !== missing) output.add(at, bytes);
      expect(output.length).toBe(missing);
      const late = order.find(({ at }) => at === missing);
      output.add(missing, late?.bytes ?? new Uint8Array(0));
      expect(got).toHaveLength(total);
    }),
    { numRuns: 300 },
  );
});

test("of no bytes changes nothing", () => {
  const { got, output } = collected();
  output.add(0, new Uint8Array(0));
  output.add(5, new Uint8Array(0));
  output.add(0, Uint8Array.of(1, 2));
  expect([got, output.length]).toEqual([[1, 2], 2]);
});
