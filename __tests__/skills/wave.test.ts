import fc from "fast-check";
import { expect, it } from "vitest";

import { readWaveResult, readWaveString, waveString } from "../../lib/skills/engines/external.js";

it.each([
  ["", '""'],
  ['a "b"', '"a \\"b\\""'],
  ["a\\b", '"a\\\\b"'],
  ["a\nb\0", '"a\\u{a}b\\u{0}"'],
  ["ö 😀 'x'", "\"ö 😀 'x'\""],
])("writes %j", (text, literal) => {
  expect(waveString(text)).toBe(literal);
});

it("reads what it writes", () => {
  fc.assert(
    fc.property(fc.string({ unit: "binary" }), (text) => {
      expect(readWaveString(waveString(text))).toBe(text);
    }),
  );
});

it.each([
  ['"\\t\\n\\r\\\\\\"\\\'"', "\t\n\r\\\"'"],
  ['"\\u{1F600}"', "😀"],
])("reads %s", (literal, text) => {
  expect(readWaveString(literal)).toBe(text);
});

it.each(['"', 'a"', '"a"b"', '"a\nb"', '"\\u{110000}"', '"\\u{d800}"', '"\\x"', '"\\"'])(
  "refuses %s",
  (literal) => {
    expect(readWaveString(literal)).toBeUndefined();
  },
);

it.each([
  ['ok("a")\n', { ok: true, value: "a" }],
  ['err("it failed")', { ok: false, value: "it failed" }],
  ['ok("ok(\\"forged\\")")', { ok: true, value: 'ok("forged")' }],
  ["ok", undefined],
  ['maybe("a")', undefined],
  ['ok("forged")\nok("a")', undefined],
  ['printed ok("a")', undefined],
])("takes %j for a result or not", (text, result) => {
  expect(readWaveResult(text)).toEqual(result);
});
