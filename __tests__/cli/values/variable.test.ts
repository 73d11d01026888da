import { expect, it } from "vitest";

import { parseVariable } from "../../../lib/cli/values.js";

const kHost = { HOME: "/root", EMPTY: "" };

it.each([
  ["A=1", ["A", "1"]],
  ["A=", ["A", ""]],
  ["A=b=c", ["A", "b=c"]],
  ["A=x y\nz", ["A", "x y\nz"]],
  ["HOME", ["HOME", "/root"]],
  ["EMPTY", ["EMPTY", ""]],
  ["MISSING", undefined],
  ["", undefined],
  ["=x", undefined],
])("%j is %j", (text, expected) => {
  expect(parseVariable(text, kHost)).toEqual(expected);
});
