/** Two classes of one name in one binary are found; those that the linker keeps apart are not. */

import { expect, test } from "vitest";

import { repeatedNames } from "../../scripts/checks/class-names.mjs";

const inside = (text: string) =>
  `namespace native_runner {\n${text}\n}  // namespace native_runner\n`;

test("of two files, however they are declared", () => {
  expect(
    repeatedNames([
      ["a.h", inside("class Relay {\n};")],
      ["b.h", inside("struct Other {\n};\nclass Relay final : public Other {\n};")],
      ["c.h", inside("class Relay;\nenum class Other { kOne };")],
    ]),
  ).toEqual([["Relay", ["a.h", "b.h"]]]);
});

test("but not in unnamed or nested namespaces, or within a class", () => {
  const apart = [
    inside("namespace {\n\nclass Relay {\n};\n\n}  // namespace"),
    "namespace native_runner::events {\nstruct Relay {\n};\n}  // namespace native_runner::events\n",
    inside("class Outer {\n  struct Relay {\n  };\n};"),
  ];
  const own: [string, string] = ["own.h", inside("class Relay {\n};")];
  for (const text of apart) expect(repeatedNames([own, ["other.h", text]])).toEqual([]);
  expect(repeatedNames([own, ["other.h", own[1]]])).toHaveLength(1); // control
});
