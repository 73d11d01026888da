import { expect, test } from "vitest";

import { expectFields, unknownField } from "../lib/fields.js";

const kKnown = { argv: true, cwd: true } as const;

test("names the field, its place and the nearest one", () => {
  const error = unknownField("argvs", "input", ["argv", "cwd"]);
  expect(error).toBeInstanceOf(TypeError);
  expect(error).toMatchObject({ code: "ERR_INVALID_ARG_VALUE" });
  expect(error.message).toBe('Unknown field "argvs" in `input`; did you mean `argv`?');
});

test("lists what there is when none is near", () => {
  expect(unknownField("colour", "input", ["argv", "cwd"]).message).toBe(
    'Unknown field "colour" in `input`; there are `argv`, `cwd`',
  );
});

test("is one short line whatever the name", () => {
  const { message } = unknownField(`a\n"${"b".repeat(1000)}`, "input", ["argv"]);
  expect(message).not.toContain("\n");
  expect(message.length).toBeLessThan(300);
});

test("takes known fields, what is undefined, symbols and what a class has", () => {
  class Input {
    argv = ["ls"];
    get other() {
      return 1;
    }
  }
  for (const value of [{}, { argv: 1 }, { zyx: undefined }, { [Symbol("zyx")]: 1 }, new Input()]) {
    expect(() => expectFields(value, "input", kKnown)).not.toThrow();
  }
  expect(() => expectFields({ zyx: null }, "input", kKnown)).toThrow('"zyx"');
});

test("takes no name of Object.prototype for a known one", () => {
  expect(() => expectFields({ toString: 1 }, "input", kKnown)).toThrow('"toString"');
});

test.each([null, undefined, 5, "x"])("%j is no object", (value) => {
  expect(() => expectFields(value, "input", kKnown)).toThrow("Expected `input` to be an object");
});
