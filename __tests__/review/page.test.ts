/** The page's own reckoning: its tree, what is chosen, and its words. */

import { expect, test } from "vitest";

import { reviewRuns, runsOf } from "../../lib/review/runs.js";
import type { SandboxedAuditRecord } from "../../types/public.js";
import type { TransactionRun } from "../../types/transaction.js";
import {
  type Choices,
  canBeChosen,
  hasHunk,
  kept,
  stateOf,
  toggled,
  wishOf,
  withHunk,
} from "../../web/review/choices.js";
import type { ReviewChange } from "../../web/review/model.js";
import { rowsOf } from "../../web/review/tree.js";
import {
  commandWords,
  detailWords,
  durationWords,
  shown,
  sizeWords,
} from "../../web/review/words.js";

function change(path: string, own: Partial<ReviewChange> = {}): ReviewChange {
  const sizes = { size: 1, previousSize: 0, mode: 0o100644, previousMode: 0 };
  return {
    ...{ path, kind: "added", type: "file", ...sizes },
    ...{ version: `v ${path}`, changedAtMs: 0, runs: [] },
    ...own,
  };
}

const kChanges = [
  change("a"),
  change("deep/er/x"),
  change("src", { type: "directory", mode: 0o40755 }),
  change("src/b"),
  change("src/c/d"),
];

test("the tree has directories first, and chains of single ones as one row", () => {
  const rows = rowsOf(kChanges, new Set());
  expect(rows.map(({ name, depth }) => [name, depth])).toEqual([
    ["deep/er", 0],
    ["x", 1],
    ["src", 0],
    ["c", 1],
    ["d", 2],
    ["b", 1],
    ["a", 0],
  ]);
  expect(rows.find(({ name }) => name === "src")?.below).toEqual(["src", "src/c/d", "src/b"]);
  const folded = rowsOf(kChanges, new Set(["src"]));
  expect(folded.map(({ name }) => name)).toEqual(["deep/er", "x", "src", "a"]);
});

test("the workspace itself, and names like those of objects, have their rows", () => {
  const changes = [
    change(".", { type: "directory", kind: "modified" }),
    change("__proto__/constructor"),
    change("toString"),
  ];
  expect(rowsOf(changes, new Set()).map(({ path }) => path)).toEqual([
    ".",
    "__proto__",
    "__proto__/constructor",
    "toString",
  ]);
});

test("a directory's box is what its files' are, and conflicts can't be chosen", () => {
  const changes = [...kChanges, change("src/clash", { conflict: true })];
  expect(changes.filter(canBeChosen)).toHaveLength(kChanges.length);
  const paths = kChanges.map(({ path }) => path);
  let choices: Choices = new Map();
  expect(stateOf(choices, paths)).toBe("none");
  choices = toggled(choices, changes);
  expect(stateOf(choices, paths)).toBe("all");
  expect(choices.has("src/clash")).toBe(false);
  choices = toggled(choices, [change("a")]);
  expect(stateOf(choices, paths)).toBe("some");
  expect(wishOf(choices).map(({ path }) => path)).not.toContain("a");
  expect(stateOf(toggled(toggled(choices, changes), changes), paths)).toBe("none");
});

test("hunks make a file chosen in part, in whole, or not", () => {
  const file = change("a");
  const hunks = [0, 10, 20].map((at) => ({
    ...{ fromBefore: at, toBefore: at + 1, fromAfter: at, toAfter: at + 1 },
  }));
  let choices: Choices = withHunk(new Map(), file, hunks, 2);
  choices = withHunk(choices, file, hunks, 0);
  expect(wishOf(choices)).toEqual([{ path: "a", version: "v a", hunks: [hunks[0], hunks[2]] }]);
  expect([0, 1, 2].map((at) => hasHunk(choices, "a", at))).toEqual([true, false, true]);
  expect(stateOf(choices, ["a"])).toBe("some");
  choices = withHunk(choices, file, hunks, 1);
  expect(wishOf(choices)).toEqual([{ path: "a", version: "v a" }]);
  for (const at of [0, 1, 2]) choices = withHunk(choices, file, hunks, at);
  expect(choices.size).toBe(0);
});

test("what has become something else, is gone or in conflict is not chosen any more", () => {
  const choices = toggled(new Map(), kChanges);
  const now = [
    change("a"),
    change("src/b", { version: "other" }),
    change("src/c/d", { conflict: true }),
    change("src", { type: "directory", mode: 0o40755 }),
  ];
  const { choices: left, dropped } = kept(choices, now);
  expect([...left.keys()]).toEqual(["a", "src"]);
  expect(dropped.sort()).toEqual(["deep/er/x", "src/b", "src/c/d"]);
});

test("names and commands can't be mistaken, and nothing in them is obeyed", () => {
  expect(shown(" a ")).toBe('" a "');
  expect(shown("a\n\u001b[2J\u202eb")).toBe("a\\n^[[2J\\u202eb");
  expect(commandWords(["sh", "-c", "echo 'x' > y"])).toBe("sh -c 'echo '\\''x'\\'' > y'");
  expect(sizeWords(0)).toBe("0 B");
  expect(sizeWords(1536)).toBe("1.5 KiB");
  expect(sizeWords(5e12)).toBe("4.5 TiB");
  expect([5, 1500, 61_000].map(durationWords)).toEqual(["5 ms", "1.5 s", "1 min 1 s"]);
  const modes = { kind: "modified", mode: 0o100755, previousMode: 0o100644 } as const;
  expect(detailWords(change("a", { ...modes, size: 1, previousSize: 1 }))).toEqual([
    "1 B",
    "mode 644 → 755",
  ]);
});

function run(endMs: number, own: Partial<SandboxedAuditRecord> = {}): TransactionRun {
  const timing = { queueMs: 0, setupMs: 8, commandMs: 10, teardownMs: 1 };
  const usage = { userCpuMs: 1, systemCpuMs: 1, peakMemoryBytes: 1 };
  const audit = {
    ...{ cmd: "bwrap", argv: ["--setenv", "A", "--", "--chdir", "/w", "--", "sh", "-c", "x"] },
    ...{ runtime: "bubblewrap", durationMs: 19, outcome: "exited", signal: null, timing, usage },
    ...own,
  } as unknown as SandboxedAuditRecord;
  return { endedAt: new Date(endMs), exitCode: 0, audit };
}

test("a change is of the command that ran then, of all where several did", () => {
  const runs = [run(1000), run(1020), run(1021)];
  const at = (ms: number) => runsOf({ ...change("a"), changedAt: new Date(ms) }, runs);
  expect(at(995)).toEqual([0]);
  expect(at(1015)).toEqual([1, 2]);
  expect(at(1003)).toEqual([1, 2]); // in the tick before they began
  expect(at(2000)).toEqual([]);
  expect(runsOf(change("a"), runs)).toEqual([]);
});

test("a command is told without the sandbox's own words", () => {
  const [reported] = reviewRuns([run(1000)]);
  expect(reported).toMatchObject({
    id: 0,
    command: ["sh", "-c", "x"],
    denials: [],
    connections: [],
  });
  const [other] = reviewRuns([run(1, { runtime: "landlock", cmd: "ls", argv: ["--", "x"] })]);
  expect(other?.command).toEqual(["ls", "--", "x"]);
});
