import { mkdirSync, mkdtempSync, realpathSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { expect, test } from "vitest";

import { isWithin, narrowingOf } from "../../lib/mcp/roots.js";

const top = realpathSync(mkdtempSync(join(tmpdir(), "native-runner-roots-")));
const workspace = join(top, "work");
mkdirSync(join(workspace, "a", "b"), { recursive: true });
mkdirSync(join(top, "workshop"));
symlinkSync(join(workspace, "a"), join(top, "link"));
symlinkSync("/usr", join(workspace, "out"));
const roots = (...paths: string[]) => paths.map((path) => ({ uri: pathToFileURL(path).href }));

test.each([
  ["none at all", [], undefined],
  ["the workspace", roots(workspace), undefined],
  ["what holds it", roots(top), undefined],
  ["what holds it, and a part", roots("/", join(workspace, "a")), undefined],
  ["a part", roots(join(workspace, "a")), ["a"]],
  ["a part, by a link", roots(join(top, "link")), ["a"]],
  ["parts, and others", roots(join(workspace, "a", "b"), "/usr"), ["a/b"]],
])("of %s", (_, given, left) => {
  expect(narrowingOf(workspace, given)).toEqual(left);
});

test.each([
  ["another directory", roots("/usr")],
  ["one whose name begins alike", roots(join(top, "workshop"))],
  ["a link in the workspace that leads out", roots(join(workspace, "out"))],
  ["nothing", roots(join(top, "missing"))],
  ["another scheme", [{ uri: "https://a.test/work" }]],
  ["no URI", [{ uri: 5 }]],
])("of %s nothing is left", (_, given) => {
  expect(() => narrowingOf(workspace, given)).toThrow(/roots/);
});

test.each([
  [undefined, "x", true],
  [["a"], "a", true],
  [["a"], "a/b", true],
  [["a"], "ab", false],
  [["a"], ".", false],
  [["a"], "../a", false],
])("what is within %j: %s", (narrowing, path, expected) => {
  expect(isWithin(narrowing, path)).toBe(expected);
});
