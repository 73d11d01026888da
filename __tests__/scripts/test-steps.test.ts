import { expect, it } from "vitest";

import { durationText, timeTable } from "../../scripts/lib/steps.mjs";

it.each([
  [0.4, "0 s"],
  [59.4, "59 s"],
  [59.6, "1 min 0 s"],
  [250, "4 min 10 s"],
])("%d seconds are %s", (seconds, text) => {
  expect(durationText(seconds)).toBe(text);
});

it("says where the time went, the whole last", () => {
  const table = timeTable([
    { label: "set-up", seconds: 25 },
    { label: "integration", seconds: 75 },
  ]);
  expect(table.map((line) => line.trim().split(/ {2,}/))).toEqual([
    ["set-up", "25 s", "25 %"],
    ["integration", "1 min 15 s", "75 %"],
    ["total", "1 min 40 s", "100 %"],
  ]);
});
