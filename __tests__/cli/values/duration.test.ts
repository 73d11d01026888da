import { describe, expect, it } from "vitest";

import { formatDuration, parseDuration } from "../../../lib/cli/values.js";

describe("parseDuration", () => {
  it.each([
    ["500ms", 500],
    ["30s", 30_000],
    ["30", 30_000],
    ["1.5s", 1500],
    ["5m", 300_000],
    ["1h", 3_600_000],
    ["0.5ms", 1],
    ["none", Number.POSITIVE_INFINITY],
  ])("%s is %d ms", (text, expected) => {
    expect(parseDuration(text)).toBe(expected);
  });

  it.each(["", "0", "0s", "-1s", "5x", "s", "1 s", "1e3", "0x10", "5M", "Infinity", "1s\n"])(
    "%j is none",
    (text) => {
      expect(parseDuration(text)).toBeUndefined();
    },
  );
});

describe("formatDuration", () => {
  it.each([
    [500, "500ms"],
    [1500, "1500ms"],
    [30_000, "30s"],
    [90_000, "90s"],
    [60_000, "1m"],
    [7_200_000, "2h"],
    [Number.POSITIVE_INFINITY, "none"],
  ])("%d ms is %s, and reads back", (milliseconds, text) => {
    expect(formatDuration(milliseconds)).toBe(text);
    expect(parseDuration(text)).toBe(milliseconds);
  });
});
