import fc from "fast-check";
import { describe, expect, test } from "vitest";

import {
  comparePaths,
  type Entry,
  isEntryPath,
} from "../../../lib/remote/workspace/content/entry.js";
import {
  applied,
  deltaOf,
  Manifest,
  parseDelta,
  textOfDelta,
} from "../../../lib/remote/workspace/content/manifest.js";

const kBounds = { maxEntries: 1000, maxBytes: 1e9 };
const kSha = "a".repeat(64);
const kTopText = "d755\0.\0";

const file = (path: string, sha256 = kSha): string => `f644 3 5 ${sha256}\0${path}\0`;

const parse = (text: string) => Manifest.parse(text, kBounds);

describe("a manifest from elsewhere", () => {
  test("is what it says", () => {
    const text = `${kTopText}d700\0a\0${file("a/-x\n")}l\0a/l\0../../etc\0${file("a-b")}`;
    const manifest = parse(text);
    expect(manifest.text).toBe(text);
    expect(manifest.entries.map(({ path }) => path)).toEqual([".", "a", "a/-x\n", "a/l", "a-b"]);
    expect(manifest.bytes).toBe(6);
    expect(manifest.find("a/l")).toEqual({ type: "symlink", path: "a/l", target: "../../etc" });
  });

  test.each([
    ["an absolute path", `${kTopText}${file("/etc/passwd")}`],
    ["a way up", `${kTopText}d755\0a\0${file("a/../../x")}`],
    ["a step that is none", `${kTopText}d755\0a\0${file("a/./x")}`],
    ["an empty step", `${kTopText}d755\0a\0${file("a//x")}`],
    ["a lone surrogate", `${kTopText}${file("\ud800")}`],
    ["a name that is too long", `${kTopText}${file("x".repeat(256))}`],
    ["a path twice", `${kTopText}${file("a")}${file("a")}`],
    ["paths out of order", `${kTopText}${file("b")}${file("a")}`],
    ["no directory on the way", `${kTopText}${file("a/b")}`],
    ["a file on the way", `${kTopText}${file("a")}${file("a/b")}`],
    ["a link on the way", `${kTopText}l\0a\0/etc\0${file("a/b")}`],
    ["no top", file("a")],
    ["a top that is a link", "l\0.\0/etc\0"],
    ["what is gone", `${kTopText}-\0a\0`],
    ["no known kind", `${kTopText}p644\0a\0`],
    ["a set-id bit", `${kTopText}f4755 3 5 ${kSha}\0a\0`],
    ["a negative size", `${kTopText}f644 -3 5 ${kSha}\0a\0`],
    ["a size that is no integer", `${kTopText}f644 9999999999999999 5 ${kSha}\0a\0`],
    ["no digest", `${kTopText}f644 3 5 abc\0a\0`],
    ["a link without a target", `${kTopText}l\0a\0\0`],
    ["half a record", `${kTopText}${file("a").slice(0, -1)}`],
    ["a record without a path", `${kTopText}d755\0`],
  ])("is refused with %s", (_, text) => {
    expect(() => parse(text)).toThrowError(
      expect.objectContaining({ code: "ERR_WORKSPACE_MESSAGE" }) as Error,
    );
  });

  test("is refused over the bounds", () => {
    const text = `${kTopText}${file("a")}${file("b")}`;
    expect(() => Manifest.parse(text, { maxEntries: 3, maxBytes: 6 })).not.toThrow();
    expect(() => Manifest.parse(text, { maxEntries: 2, maxBytes: 6 })).toThrow(/more than 2/);
    expect(() => Manifest.parse(text, { maxEntries: 3, maxBytes: 5 })).toThrow(/6 bytes/);
  });
});

const kNames = fc
  .oneof(
    fc.constantFrom(
      "a",
      "b",
      "a-b",
      "ab",
      "-rf",
      " ",
      "\n",
      "ü",
      "\u{1f600}",
      "\uffee",
      "workspace",
    ),
    fc.string({ minLength: 1, maxLength: 5, unit: "binary" }).filter(isEntryPath),
  )
  .filter((name) => !name.includes("/") && name !== ".");

/** A random tree: names to contents, or trees. */
type Tree = { [name: string]: Tree | string };
const { tree: kTree } = fc.letrec<{ tree: Tree }>((tie) => ({
  tree: fc.dictionary(
    kNames,
    fc.oneof({ maxDepth: 3 }, fc.constantFrom("0", "1", "2"), tie("tree")),
    { maxKeys: 5, noNullPrototype: true },
  ),
}));

function entriesOf(tree: Tree, above = ""): Entry[] {
  return Object.entries(tree).flatMap(([name, value]): Entry[] => {
    const path = above + name;
    if (typeof value === "string") {
      const sha256 = value.repeat(64);
      return [{ type: "file", path, mode: 0o644, size: Number(value), mtimeUs: 1, sha256 }];
    }
    return [{ type: "directory", path, mode: 0o755 }, ...entriesOf(value, `${path}/`)];
  });
}

const manifestOf = (tree: Tree) =>
  Manifest.of([{ type: "directory", path: ".", mode: 0o755 }, ...entriesOf(tree)]);

describe("a delta", () => {
  test("makes the one state of the other, also by way of its text", () => {
    fc.assert(
      fc.property(kTree, kTree, (one, other) => {
        const from = manifestOf(one);
        const to = manifestOf(other);
        expect(parse(from.text).id).toBe(from.id);
        const delta = parseDelta(textOfDelta(deltaOf(from, to)), kBounds);
        expect(applied(from, delta, kBounds).text).toBe(to.text);
      }),
    );
  });

  test("of equal states is empty", () => {
    const manifest = manifestOf({ a: { b: "1" } });
    expect(deltaOf(manifest, parse(manifest.text))).toEqual({ removed: [], set: [] });
  });

  test.each([
    ["the end of what is not there", "-\0x\0"],
    ["the end of a directory alone", "-\0a\0"],
    ["a file in the place of a directory that is not empty", file("a")],
    ["an entry in a file", file("a/b/c")],
    ["an entry in nothing", file("x/y")],
    ["a path that leads out", file("../y")],
  ])("is refused with %s", (_, text) => {
    const from = manifestOf({ a: { b: "1" } });
    expect(() => applied(from, parseDelta(text, kBounds), kBounds)).toThrowError(
      expect.objectContaining({ code: "ERR_WORKSPACE_MESSAGE" }) as Error,
    );
    const fine = parseDelta(`-\0a/b\0${file("a/c")}`, kBounds);
    expect(applied(from, fine, kBounds).find("a/c")?.type).toBe("file");
  });
});

test("paths have the order of their names' bytes, and what a directory holds is behind it", () => {
  const key = (path: string) => path.split("/").map((name) => Buffer.from(name).toString("hex"));
  const expected = (one: string, other: string) => {
    const [left, right] = [key(one), key(other)];
    for (let at = 0; at < Math.max(left.length, right.length); at += 1) {
      const [a = "", b = ""] = [left[at], right[at]];
      if (a !== b) return a < b ? -1 : 1;
    }
    return 0;
  };
  const kPath = fc.array(kNames, { minLength: 1, maxLength: 3 }).map((names) => names.join("/"));
  fc.assert(
    fc.property(kPath, kPath, (one, other) => {
      expect(Math.sign(comparePaths(one, other))).toBe(expected(one, other));
    }),
    { numRuns: 1000 },
  );
});
