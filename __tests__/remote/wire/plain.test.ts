/** Values on their way: they come out as they went in, and what comes from elsewhere can do no harm. */

import { isDeepStrictEqual } from "node:util";
import fc from "fast-check";
import { describe, expect, test } from "vitest";

import { WireError } from "../../../lib/remote/wire/frame.js";
import { fromPlain, toPlain } from "../../../lib/remote/wire/plain.js";

const kMarks = ["$number", "$bytes", "$date", "$object"] as const;
const overWire = (value: unknown) => JSON.parse(JSON.stringify(value)) as unknown;
const there = (value: unknown) => fromPlain(overWire(toPlain(value, "value")));

const { tree: sendable } = fc.letrec((tie) => ({
  leaf: fc.oneof(
    fc.string({ unit: "binary" }),
    fc.double(),
    fc.integer(),
    fc.boolean(),
    fc.constant(null),
    fc.date({ noInvalidDate: true }), // Node.js takes two that are invalid for different ones
    fc.uint8Array(),
  ),
  /** Names that stand for something among those that do not. */
  name: fc.oneof(
    fc.constantFrom(...kMarks, "$", "__proto__", "constructor", "toString"),
    fc.string(),
  ),
  tree: fc.oneof(
    { maxDepth: 6 },
    tie("leaf"),
    fc.array(tie("tree"), { maxLength: 4 }),
    fc
      .array(fc.tuple(tie("name") as fc.Arbitrary<string>, tie("tree")), { maxLength: 4 })
      .map((entries) => Object.fromEntries(entries)),
  ),
}));

describe("a value", () => {
  test("comes out as it went in, whatever its fields are called", () => {
    fc.assert(
      fc.property(sendable, (value) => {
        // Vitest's own comparison takes a field called "constructor" for the object's class.
        expect(isDeepStrictEqual(there(value), value)).toBe(true);
      }),
      { numRuns: 1_000 },
    );
  });

  test.each(kMarks)("with a field %s is no mark", (name) => {
    for (const inner of ["x", 7, null, {}, { [name]: 1 }, { $object: {} }]) {
      const value = { [name]: inner };
      expect(there(value)).toStrictEqual(value);
      expect(there({ deep: [value, { ...value, more: 1 }] })).toStrictEqual({
        deep: [value, { ...value, more: 1 }],
      });
    }
  });

  test("that is an invalid date is one there", () => {
    const [date] = there([new Date(Number.NaN)]) as [Date];
    expect(date).toBeInstanceOf(Date);
    expect(date.getTime()).toBeNaN();
  });

  test("without what is undefined", () => {
    expect(there({ a: undefined, b: { c: undefined, d: 1 } })).toStrictEqual({ b: { d: 1 } });
  });

  test("whose fields are read by functions is read once", () => {
    let reads = 0;
    const value = {
      get field() {
        reads += 1;
        return reads;
      },
    };
    expect(there({ value })).toStrictEqual({ value: { field: 1 } });
    expect(reads).toBe(1);
  });

  test.each([
    ["a function", () => {}, "value.it"],
    ["a symbol", Symbol("x"), "value.it"],
    ["a BigInt", 1n, "value.it"],
    ["an array of 32 bits", new Uint32Array(1), "value.it"],
    ["a view", new DataView(new ArrayBuffer(1)), "value.it"],
    ["an undefined element", [1, undefined], "value.it[1]"],
  ])("that holds %s is refused by the name of its field", (_, it_, field) => {
    expect(() => toPlain({ it: it_ }, "value")).toThrow(
      expect.objectContaining({ message: expect.stringContaining(`\`${field}\``) as string }),
    );
  });

  test("that is a ring is refused, not followed for ever", () => {
    const ring: Record<string, unknown> = {};
    ring.again = ring;
    expect(() => toPlain(ring, "value")).toThrow(TypeError);
  });
});

describe("what comes from elsewhere", () => {
  const { any } = fc.letrec((tie) => ({
    name: fc.constantFrom(...kMarks, "__proto__", "toString", "valueOf", "constructor", "x"),
    any: fc.oneof(
      { maxDepth: 8 },
      fc.jsonValue(),
      fc.array(tie("any"), { maxLength: 3 }),
      fc
        .array(fc.tuple(tie("name") as fc.Arbitrary<string>, tie("any")), { maxLength: 3 })
        .map((entries) => Object.fromEntries(entries)),
    ),
  }));

  test("is a value or refused, and never changes what all objects have", () => {
    const before = Object.getOwnPropertyNames(Object.prototype);
    fc.assert(
      fc.property(any, (value) => {
        try {
          fromPlain(overWire(value));
        } catch (error) {
          expect(error).toBeInstanceOf(WireError);
        }
        expect(Object.getOwnPropertyNames(Object.prototype)).toEqual(before);
        expect(({} as { x?: unknown }).x).toBeUndefined();
      }),
      { numRuns: 1_000 },
    );
  });

  test.each(kMarks)("as %s of an object without a text of its own is refused", (name) => {
    const value = overWire({ [name]: { toString: 1, valueOf: 1 } });
    if (name === "$object") expect(fromPlain(value)).toEqual({ toString: 1, valueOf: 1 });
    else expect(() => fromPlain(value)).toThrow(WireError);
  });

  test("is refused where it is too deep", () => {
    let deep: unknown = 1;
    for (let at = 0; at < 10_000; at += 1) deep = at % 2 === 0 ? [deep] : { $object: { deep } };
    expect(() => fromPlain(deep)).toThrow(WireError);
  });
});
