import { execFileSync } from "node:child_process";
import { describe, expect, it } from "vitest";

import { shellLines, shellQuote } from "../lib/text.js";

const kWords = [
  "",
  "plain",
  "a b",
  "it's",
  '"',
  "$HOME",
  "`id`",
  "a\nb",
  "--x",
  "*",
  "~",
  "é",
  "\\",
];

describe("shellQuote", () => {
  it("leaves what is plain alone", () => {
    expect(shellQuote("/usr/bin/env")).toBe("/usr/bin/env");
    expect(shellQuote("a b")).toBe("'a b'");
    expect(shellQuote("")).toBe("''");
  });

  it("is read back by a shell word for word", () => {
    const script = `printf '%s\\0' ${kWords.map(shellQuote).join(" ")}`;
    const words = execFileSync("sh", ["-c", script], { encoding: "utf8" });
    expect(words.split("\0").slice(0, -1)).toEqual(kWords);
  });
});

describe("shellLines", () => {
  it("puts each option with its values on a line, and the command on the last", () => {
    const args = ["--die-with-parent", "--ro-bind", "/usr", "/usr", "--", "bash", "-c", "a b"];
    expect(shellLines("bwrap", args)).toBe(
      "bwrap \\\n  --die-with-parent \\\n  --ro-bind /usr /usr \\\n  -- bash -c 'a b'",
    );
  });

  it("can be pasted", () => {
    const args = ["--a", ...kWords, "--", ...kWords, "--"];
    const script = shellLines("printf", ["%s\\0", ...args]);
    const words = execFileSync("sh", ["-c", script], { encoding: "utf8" });
    expect(words.split("\0").slice(0, -1)).toEqual(args);
  });
});
