import fc from "fast-check";
import { expect, test } from "vitest";

import { partsOf, shortened, textOf } from "../../lib/mcp/words.js";

test("parts are all of the bytes, none is too long, and none ends within a character", () => {
  fc.assert(
    fc.property(fc.string({ unit: "grapheme" }), fc.integer({ min: 4, max: 20 }), (text, most) => {
      const parts = partsOf(Buffer.from(text), most);
      expect(parts.map(textOf).join("")).toBe(text.replace(/^\ufeff/, ""));
      for (const part of parts) expect(part.length).toBeLessThanOrEqual(most);
    }),
  );
});

test("bytes that are no text end, too", () => {
  fc.assert(
    fc.property(
      fc.uint8Array({ maxLength: 100 }),
      fc.integer({ min: 4, max: 9 }),
      (bytes, most) => {
        const parts = partsOf(bytes, most);
        expect(Buffer.concat(parts)).toEqual(Buffer.from(bytes));
      },
    ),
  );
});

test("what is too long keeps its beginning and its end, and says what is missing", () => {
  expect(shortened(Buffer.from("0123456789"), 10, "")).toBe("0123456789");
  expect(shortened(Buffer.from("0123456789"), 4, "; it is elsewhere")).toBe(
    "01\n[… 6 bytes left out; it is elsewhere …]\n89",
  );
  expect(shortened(Buffer.from("a€€€€b"), 8, "")).toBe("a€\n[… 6 bytes left out …]\n€b");
});
