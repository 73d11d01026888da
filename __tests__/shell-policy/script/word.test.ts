// biome-ignore-all lint/suspicious/noTemplateCurlyInString: it is shell text.
import { parse } from "unbash";
import { describe, expect, it } from "vitest";

import { Budget } from "../../../lib/shell-policy/budget.js";
import { kAnyText, kExpansion, shellWords } from "../../../lib/shell-policy/script/word.js";
import { wordsByBash } from "../support.js";

function words(text: string) {
  const command = parse(`: ${text}`).commands[0]?.command;
  if (command?.type !== "Command") throw new Error("not a command");
  return command.args.flatMap((word) =>
    word.type === "Word" ? shellWords(word, 0, new Budget()) : [],
  );
}

const kLiteral = [
  "plain",
  "'a b' \"c d\" e\\ f",
  "'a'\"b\"c\\d",
  "''",
  '"a\\"b\\\\c\\$d\\`e\\xf"',
  "$'a\\tb\\'c\\\\d\\x41\\101\\u00e9\\e\\cB'",
  "$'a\\0b'c",
  'a\\\nb "c\\\nd"',
  "{a,b}{c,d}",
  "x{1..5}y {05..1..2} {a..e..2} {-2..2} {3..1}",
  "{a,b{c,d},e}",
  "{'a,b',\"c}\",d\\,e}",
  "{,a}{,b}",
  "a{} {a} {a,b {a..} {1..x} \\{a,b} '{a,b}'",
  "{a,'b c'}d",
  '"{a,b}" a{b,c}"{d,e}"',
];

describe("shellWords", () => {
  it("makes the words that bash makes", () => {
    const expected = wordsByBash(kLiteral);
    kLiteral.forEach((text, index) => {
      const ours = words(text);
      expect(
        ours.map((word) => word.text),
        text,
      ).toEqual(expected[index]);
      expect(
        ours.every((word) => word.literal),
        text,
      ).toBe(true);
    });
  });

  it.each([
    ["$x", kExpansion],
    ['"a$x"', `a${kExpansion}`],
    ["$HOME/x", "~/x"],
    ['"${HOME}"/x', "~/x"],
    ["~/x", "~/x"],
    ["$(ls)b", `${kExpansion}b`],
    ["${x:-/etc}", `${kExpansion}/etc`],
    ["*.ts", `${kAnyText}.ts`],
  ])("knows what it can't know in %s", (raw, text) => {
    const [word] = words(raw);
    expect(word?.text).toBe(text);
    expect(word?.literal).toBe(raw.startsWith("~"));
  });

  it("does not expand what would be too many words", () => {
    const [word, ...others] = words("{1..100}{1..100}{1..100}");
    expect(others).toEqual([]);
    expect(word?.literal).toBe(false);
  });
});
