/** The comments of a review: their bounds, and when they are outdated. */

import { expect, test } from "vitest";

import { commentWords } from "../../lib/comment-text.js";
import { Comments, kMostComments, kMostText, type SideOf } from "../../lib/review/comments.js";
import type { ReviewComment, ReviewCommentEvent } from "../../types/review.js";

type Files = Record<string, { before?: string; after?: string; version?: string }>;

/** Returns the sides of these files; what is read is counted. */
function sidesOf(files: Files, reads: string[] = []): SideOf {
  return (path, side) => {
    const text = files[path]?.[side];
    if (text === undefined) return undefined;
    return {
      version: side === "after" ? files[path]?.version : undefined,
      lines: async () => {
        reads.push(`${side} ${path}`);
        return text.split("\n");
      },
    };
  };
}

function store() {
  const told: [ReviewCommentEvent, ReviewComment][] = [];
  const comments = new Comments((comment, event) => told.push([event, comment]));
  return { comments, told };
}

const kFiles: Files = { "a.txt": { before: "one\ntwo", after: "one\n2\n", version: "1" } };
const on = (line: number, lineText: string, side: "before" | "after" = "after") => ({
  ...{ path: "a.txt", side, line, lineText, text: "why?" },
});

test("a comment is a frozen copy, in the order of writing", async () => {
  const { comments, told } = store();
  const first = await comments.add(on(2, "2"), sidesOf(kFiles));
  const second = await comments.add({ ...on(1, "one"), text: "and this?" }, sidesOf(kFiles));
  expect(first).toMatchObject({ ...on(2, "2"), isResolved: false, isOutdated: false });
  expect(new Date(first.createdAt).getTime()).toBeLessThanOrEqual(Date.now());
  expect(Object.isFrozen(first) && Object.isFrozen(comments.list())).toBe(true);
  expect(comments.list()).toEqual([first, second]);
  expect(first.id).not.toBe(second.id);
  const whole = await comments.add({ path: "a.txt", side: "after", text: "x" }, sidesOf(kFiles));
  expect(Object.keys(whole)).not.toContain("line");
  comments.change(first.id, { text: "why, please?" });
  comments.change(first.id, { isResolved: true });
  comments.remove(second.id);
  expect(first.text).toBe("why?");
  expect(comments.list()).toMatchObject([{ text: "why, please?", isResolved: true }, whole]);
  expect(told.map(([event, { id }]) => `${event} ${id}`)).toEqual([
    ...["added c1", "added c2", "added c3", "changed c1", "changed c1", "deleted c2"],
  ]);
});

test.each([
  ["no text", { text: " \n" }, /^text: Expected some text/],
  ["too much text", { text: "é".repeat(kMostText / 2 + 1) }, /^text: Expected at most 16384 bytes/],
  ["a line without its text", { lineText: undefined }, /^lineText: /],
  ["a text without its line", { line: undefined }, /^lineText: /],
])("%s is refused, by name", async (_, wrong, message) => {
  const { comments, told } = store();
  await expect(comments.add({ ...on(2, "2"), ...wrong }, sidesOf(kFiles))).rejects.toThrow(message);
  expect(told).toEqual([]);
  const { id } = await comments.add(
    { ...on(2, "2"), text: "é".repeat(kMostText / 2) },
    sidesOf(kFiles),
  );
  expect(() => comments.change(id, { text: "" })).toThrow(/^text: /);
  expect(() => comments.change("c9", { text: "x" })).toThrow(/^id: there is no such comment/);
  expect(() => comments.remove("c9")).toThrow(/^id: /);
});

test("there is a most number of comments", async () => {
  const { comments } = store();
  for (let at = 0; at < kMostComments; at += 1) await comments.add(on(2, "2"), sidesOf(kFiles));
  await expect(comments.add(on(2, "2"), sidesOf(kFiles))).rejects.toThrow(/1000 comments already/);
  comments.remove("c1");
  expect(await comments.add(on(2, "2"), sidesOf(kFiles))).toMatchObject({ id: "c1001" });
});

test.each<[string, Files, boolean]>([
  [
    "stays while its line is the same",
    { "a.txt": { after: "one\n2\nthree", version: "2" } },
    false,
  ],
  ["is outdated by another text of its line", { "a.txt": { after: "1\n3", version: "2" } }, true],
  [
    "is outdated, and does not move, when lines before it are new",
    { "a.txt": { after: "new\none\n2", version: "2" } },
    true,
  ],
  ["is outdated by a file with fewer lines", { "a.txt": { after: "one", version: "2" } }, true],
  ["is outdated without a file on its side", { "a.txt": { before: "one\n2" } }, true],
  ["is outdated when its file is no change any more", {}, true],
])("a comment %s", async (_, files, isOutdated) => {
  const { comments, told } = store();
  const before = await comments.add(on(2, "2"), sidesOf(kFiles));
  await comments.refresh(sidesOf(files));
  expect(comments.list()).toEqual([{ ...before, isOutdated }]);
  expect(told.slice(1).map(([event]) => event)).toEqual(isOutdated ? ["changed"] : []);
  await comments.refresh(sidesOf(kFiles)); // it is again what it was
  expect(comments.list()).toEqual([before]);
});

test("each side is its own", async () => {
  const { comments } = store();
  await comments.add(on(2, "two", "before"), sidesOf(kFiles));
  await comments.add(on(2, "2"), sidesOf(kFiles));
  const outdated = () => comments.list().map(({ isOutdated }) => isOutdated);
  expect(outdated()).toEqual([false, false]);
  await comments.refresh(sidesOf({ "a.txt": { before: "one\n2", after: "one\n2" } }));
  expect(outdated()).toEqual([true, false]);
});

test("a comment on a line that has changed while it was written is kept, outdated", async () => {
  const { comments } = store();
  expect(await comments.add(on(2, "3"), sidesOf(kFiles))).toMatchObject({ isOutdated: true });
});

test("a comment on a file is outdated only once the file is no change", async () => {
  const { comments } = store();
  await comments.add({ path: "a.txt", side: "after", text: "why?" }, sidesOf(kFiles));
  await comments.refresh(sidesOf({ "a.txt": { after: "other", version: "2" } }));
  expect(comments.list()).toMatchObject([{ isOutdated: false }]);
  await comments.refresh(sidesOf({}));
  expect(comments.list()).toMatchObject([{ isOutdated: true }]);
});

test("of a long line all counts, though only its beginning is kept", async () => {
  const { comments } = store();
  const long = "x".repeat(5000);
  const of = (line: string, version: string) => sidesOf({ "a.txt": { after: line, version } });
  await comments.add({ ...on(1, long.slice(0, 1000)) }, of(long, "1"));
  expect(comments.list()).toMatchObject([{ isOutdated: false }]);
  await comments.refresh(of(`${long.slice(1)}y`, "2"));
  expect(comments.list()).toMatchObject([{ isOutdated: true }]);
});

test("what can't be read changes nothing, and the same version is not read again", async () => {
  const { comments } = store();
  const reads: string[] = [];
  await comments.add(on(2, "2"), sidesOf(kFiles, reads));
  await comments.refresh(sidesOf(kFiles, reads));
  expect(reads).toEqual(["after a.txt"]);
  const failing: SideOf = () => ({
    version: "2",
    lines: () => Promise.reject(new Error("it is busy")),
  });
  await comments.refresh(failing);
  expect(comments.list()).toMatchObject([{ isOutdated: false }]);
  await comments.refresh(sidesOf({ "a.txt": { after: "no", version: "2" } }, reads));
  expect(comments.list()).toMatchObject([{ isOutdated: true }]);
});

test("as text, a terminal obeys nothing of it", async () => {
  const { comments } = store();
  const files = { "a\u001b[31m.txt": { after: "\u001b]0;x\u0007" } };
  await comments.add(
    {
      ...{ path: "a\u001b[31m.txt", side: "after", line: 1, lineText: "\u001b]0;x\u0007" },
      text: "red \u001b[31m\nand \u202etxt",
    },
    sidesOf(files),
  );
  await comments.add({ path: "b", side: "before", text: "all of it" }, sidesOf(files));
  expect(commentWords(comments.list())).toBe(
    "a^[[31m.txt:1\n> ^[]0;x^G\nred ^[[31m\nand \\u202etxt\n\nb (before) [outdated]\nall of it",
  );
});
