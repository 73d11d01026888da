import { describe, expect, it } from "vitest";
import { parseSize } from "../../../lib/cli/values.js";
import { formatSize } from "../../../lib/text.js";

describe("parseSize", () => {
  it.each([
    ["0", 0],
    ["4096", 4096],
    ["1B", 1],
    ["64K", 65_536],
    ["64kb", 65_536],
    ["64KiB", 65_536],
    ["1.5K", 1536],
    ["512M", 536_870_912],
    ["2G", 2_147_483_648],
    ["1t", 1_099_511_627_776],
  ])("%s is %d bytes", (text, expected) => {
    expect(parseSize(text)).toBe(expected);
  });

  it.each(["", "-1", "K", "1.3K", "0.5", "1 M", "1e6", "9007199254740992", "9999T", "1P", "1M\n"])(
    "%j is none",
    (text) => {
      expect(parseSize(text)).toBeUndefined();
    },
  );
});

describe("formatSize", () => {
  it.each([
    [0, "0 B"],
    [1023, "1023 B"],
    [1536, "1.5 KiB"],
    [1_048_576, "1 MiB"],
    [2_147_483_648, "2 GiB"],
    [2 ** 52, "4096 TiB"],
  ])("%d is %s", (bytes, text) => {
    expect(formatSize(bytes)).toBe(text);
  });
});
