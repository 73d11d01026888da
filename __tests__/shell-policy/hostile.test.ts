import { describe, expect, it } from "vitest";

import { checkShellCommand } from "../../lib/shell-policy/check-shell-command.js";

/** What backtracks takes minutes on these texts; a check of them takes milliseconds. */
const kBoundMs = 30_000;

const kOpenings = [
  "$(",
  "`",
  "(",
  "{ ",
  "$((",
  '"$(',
  "${x:-",
  "<<a ",
  "[[ ( ",
  "{a,",
  "@(",
  "if ",
  "a=(",
  "a[",
  "$'",
  "<(",
  "`$(",
  '"`',
  "case x in ",
  "!",
  "f(){ ",
  "env ",
  "sh -c '",
  "$x",
  "{1..9}",
  "*",
  "~",
  "\\",
  "|",
  "&",
  ";",
  "'",
  '"',
  "\n",
  "é",
  "=",
  "a=b ",
  "</x ",
  "sudo -",
  "coproc ",
];

describe("hostile text", { timeout: kBoundMs }, () => {
  it.each(kOpenings)("answers to many %j", (opening) => {
    for (const text of [
      opening.repeat(Math.floor(16_000 / opening.length)),
      opening.repeat(500),
      `ls ${opening.repeat(120)}`,
    ]) {
      const { allowed } = checkShellCommand(text, {
        shellAllowlistMode: "strict",
        shellAllowlist: ["ls"],
      });
      expect(typeof allowed).toBe("boolean");
    }
  });

  it("never throws, whatever the text", () => {
    let state = 7;
    const next = (count: number) => {
      state = (state * 1103515245 + 12345) % 2147483648;
      return Math.floor((state / 2147483648) * count);
    };
    const pieces = [
      ...kOpenings,
      ")",
      "}",
      "]]",
      "))",
      "done",
      "then",
      "fi",
      "do",
      "esac",
      "rm",
      "ls",
      " ",
      "x",
      ";;",
      "EOF",
      "git ",
      "awk '{",
      "sed e",
    ];
    for (let run = 0; run < 4000; run++) {
      const text = Array.from({ length: 1 + next(14) }, () => pieces[next(pieces.length)]).join("");
      expect(() => checkShellCommand(text, { shellAllowlistMode: "strict" }), text).not.toThrow();
    }
  });

  it("does not follow patterns that backtrack", () => {
    const long = "a".repeat(8000);
    for (const text of [
      `cat ${"/.".repeat(4000)}`,
      `cat ${"*a".repeat(500)}`,
      `awk '${"print |".repeat(1000)}'`,
      `awk '${'"a\\'.repeat(2000)}'`,
      `awk 'print ${long}'`,
      `sed '${"s/a/b/;".repeat(1000)}'`,
      `sed 's/${long}'`,
      `git -c ${long}.x=y z`,
      `cat ${"../".repeat(4000)}`,
      `ed <<E\n${" ".repeat(8000)}\nE`,
      `psql -c '${"COPY ".repeat(1500)}'`,
      `cat ${"id_".repeat(4000)}`,
      `cat ${"/etc".repeat(3000)}`,
      `vim -c '${"system ".repeat(1500)}'`,
    ]) {
      expect(typeof checkShellCommand(text).allowed, text.slice(0, 20)).toBe("boolean");
    }
  });
});
