import { expect, test } from "vitest";

import { harmlessGitConfig } from "../../lib/home/git-identity.js";

const kPassed: [name: string, text: string, out: string][] = [
  ["a name", "[user]\nname = Ada\n", '[user]\n\tname = "Ada"\n'],
  [
    "quotes and escapes",
    '[user]\nname = "A \\"B\\" \\\\ # C"\n',
    '[user]\n\tname = "A \\"B\\" \\\\ # C"\n',
  ],
  ["a comment after it", "[user]\nname = Ada ; hers\n", '[user]\n\tname = "Ada"\n'],
  ["a value on two lines", "[user]\nname = Ada \\\nL\n", '[user]\n\tname = "Ada L"\n'],
  ["other case", "[USER]\nNaMe=Ada", '[user]\n\tname = "Ada"\n'],
  ["no value", "[push]\nfollowTags\n", '[push]\n\tfollowtags = "true"\n'],
  ["a section and a setting on one line", "[user] email = a@b", '[user]\n\temail = "a@b"\n'],
  ["a subsection of color", '[color "diff"]\nmeta = blue\n', '[color "diff"]\n\tmeta = "blue"\n'],
  ["an alias", "[alias]\nst = status -s\n", '[alias]\n\tst = "status -s"\n'],
  ["Windows' line ends", "[user]\r\nname = Ada\r\n", '[user]\n\tname = "Ada"\n'],
];

test.each(kPassed)("passes: %s", (_name, text, out) => {
  expect(harmlessGitConfig([text])).toBe(out);
});

const kLeftOut: [name: string, text: string][] = [
  ["a shell command", "[alias]\nx = !sh\n"],
  ["one after blanks", '[alias]\nx = "  !sh"\n'],
  ["an alias with options of git's own", "[alias]\nx = -c core.pager=sh log\n"],
  ["a signing program", "[gpg]\nprogram = sh\n"],
  ["a key", "[user]\nsigningKey = A\n"],
  ["an include", "[include]\npath = /x\n"],
  ["a conditional include", '[includeIf "gitdir:/"]\npath = /x\n'],
  ["a credential helper", "[credential]\nhelper = store\n"],
  ["a header with a token", '[http "https://x/"]\nextraHeader = token\n'],
  ["a rewritten address", '[url "https://token@x/"]\ninsteadOf = https://x/\n'],
  ["a template with hooks", "[init]\ntemplateDir = /x\n"],
  ["an external diff", "[diff]\nexternal = sh\n"],
  ["a driver's program", '[diff "x"]\ntextconv = sh\n'],
  ["a merge driver", '[merge "x"]\ndriver = sh\n'],
  ["a tool", "[merge]\ntool = x\n"],
  ["a subsection that looks like a section", '[user "name"]\nname = x\n'],
  ["a setting without a section", "name = Ada\n"],
  ["what a broken section has", "[user\nname = Ada\n"],
  ["a value with NUL", "[user]\nname = A\0B\n"],
  ["a commented line", "[user]\n# name = Ada\n"],
];

test.each(kLeftOut)("leaves out: %s", (_name, text) => {
  expect(harmlessGitConfig([text])).toBe("");
});

test("of several files the later ones count: they come last", () => {
  const both = harmlessGitConfig(["[user]\nname = One\n", "[user]\nname = Two\n"]);
  expect(both).toBe('[user]\n\tname = "One"\n\tname = "Two"\n');
});
