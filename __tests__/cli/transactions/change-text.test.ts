import { stripVTControlCharacters } from "node:util";
import { describe, expect, it } from "vitest";

import { changeSummary, counted, diffText } from "../../../lib/change-text.js";
import type { Change } from "../../../lib/index.js";
import { notableChanges } from "../../../lib/notable-changes.js";

const kFile = 0o100644;
const kDirectory = 0o40755;

function change(path: string, changes: Partial<Change> & { from?: string } = {}): Change {
  return {
    path,
    kind: "modified",
    type: "file",
    size: 2048,
    previousSize: 1024,
    mode: kFile,
    previousMode: kFile,
    ...changes,
  };
}

const added = { kind: "added", previousSize: 0, previousMode: 0 } as const;
const deleted = { kind: "deleted", size: 0, mode: 0 } as const;
const directory = { type: "directory", size: 0, previousSize: 0, mode: kDirectory } as const;

describe("a summary", () => {
  it("has a letter, the sizes and the mode for each, and counts them", () => {
    const changes = [
      change("a"),
      change("dir", { ...added, ...directory }),
      change("dir/b", { ...added, size: 5 }),
      change("empty", { ...added, ...directory }),
      change("gone", deleted),
      change("link", { ...added, type: "symlink", mode: 0o120777, target: "a" }),
      change("mode", { size: 1024, mode: 0o100755, conflict: true }),
      change("new", { kind: "renamed" as never, from: "old", size: 1024 }),
      change("pipe", { ...added, type: "other", size: 0, mode: 0o10644 }),
    ];
    expect(changeSummary(changes, false)).toBe(`  M a          1 KiB → 2 KiB
  A dir/b      5 B
  A empty/
  D gone       1 KiB
  A link → a
  M mode       1 KiB, mode 644 → 755  conflict: the host has changed it too
  R old → new  1 KiB
  A pipe       FIFO, socket or device: never committed
8 changes: 4 added, 2 modified, 1 deleted, 1 renamed; 1 conflict with the host
`);
  });

  it("of nothing is nothing", () => {
    expect(changeSummary([], true)).toBe("");
  });

  it("has colours where they are wanted, and says the same without", () => {
    const changes = [change("a"), change("b", added), change("c", deleted)];
    const painted = changeSummary(changes, true);
    expect(painted).toContain("\u001b[33mM\u001b[39m");
    expect(painted).toContain("\u001b[32mA\u001b[39m");
    expect(painted).toContain("\u001b[31mD\u001b[39m");
    expect(stripVTControlCharacters(painted)).toBe(changeSummary(changes, false));
  });

  it("ends somewhere", () => {
    const many = Array.from({ length: 5000 }, (_, index) => change(`f${index}`));
    const lines = changeSummary(many, false).split("\n");
    expect(lines.length).toBeLessThan(210);
    expect(lines.slice(-3)).toEqual(["  … and 4800 more", "5000 changes: 5000 modified", ""]);
  });

  it("shows a terminal nothing that it would obey", () => {
    const evil = "a\u001b[2J\n\u009bx\u202e";
    const text = changeSummary([change(evil), change("l", { target: evil })], false);
    // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what must not be there
    expect(text).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u202e]/);
    expect(text).toContain("a^[[2J\\n\\u009bx\\u202e");
    expect(text.split("\n")).toHaveLength(4);
  });
});

it("a directory is told of where nothing in it is, or its mode has changed", () => {
  const made = { ...added, ...directory };
  const changes = [
    change("a", made),
    change("a/b", made),
    change("a/b/c", added),
    change("d", { ...directory, kind: "modified" }),
    change("d/e", added),
    change("f", made),
  ];
  expect(notableChanges(changes).map(({ path }) => path)).toEqual(["a/b/c", "d", "d/e", "f"]);
});

it("one is not several", () => {
  expect([counted(0, "change"), counted(1, "change"), counted(2, "change")]).toEqual([
    "0 changes",
    "1 change",
    "2 changes",
  ]);
});

describe("a diff", () => {
  const kDiff =
    "diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1,1 +1,1 @@\n-old\u001b[0m\n+new\n same\n";

  it("keeps its lines, without what a terminal would obey", () => {
    expect(diffText(kDiff, false)).toBe(kDiff.replace("\u001b", "^["));
  });

  it("has colours by what a line is", () => {
    expect(diffText(kDiff, true).split("\n")).toEqual([
      "\u001b[1mdiff --git a/x b/x\u001b[22m",
      "\u001b[1m--- a/x\u001b[22m",
      "\u001b[1m+++ b/x\u001b[22m",
      "\u001b[36m@@ -1,1 +1,1 @@\u001b[39m",
      "\u001b[31m-old^[[0m\u001b[39m",
      "\u001b[32m+new\u001b[39m",
      " same",
      "",
    ]);
  });
});
