import { describe, expect, it } from "vitest";

import { unexpected } from "../../scripts/platforms/expected.mjs";
import { tableOf } from "../../scripts/platforms/table.mjs";

const kClone = "bubblewrap: a cloned sandbox: this bwrap has no --bind-fd";
const kCount = "bubblewrap: the count of processes is limited: there is no cgroup";

describe("what a platform may leave out", () => {
  it("is known of an old bwrap alone", () => {
    expect(unexpected("bwrap 0.4.1-3 (bullseye)", "user", [kClone])).toEqual([]);
    expect(unexpected("bwrap 0.13.1-1 (testing)", "user", [kClone])).toEqual([kClone]);
    expect(unexpected("Node.js 26.10.0", "user", [kClone])).toEqual([kClone]);
  });

  it("is known of root's count of processes, and of nobody else's", () => {
    expect(unexpected("Deno 2.9.6", "root", [kCount])).toEqual([]);
    expect(unexpected("Deno 2.9.6", "user", [kCount])).toEqual([kCount]);
  });

  it("is this check, and none whose name begins with its name", () => {
    const other = kClone.replace("sandbox:", "sandbox of another kind:");
    expect(unexpected("bwrap 0.4.1-3 (bullseye)", "user", [other])).toEqual([other]);
  });
});

describe("the table", () => {
  const result = { passed: 3, failed: ["x: y"], leftOut: ["a: b|c in /opt/x/bwrap-1"], place: "" };
  const row = { name: "one", how: "npm", date: "2026-01-02", commit: "abc", failed: [] };

  it("says what was not run, and tells each reason once", () => {
    const table = tableOf([
      { ...row, root: result, user: { ...result, failed: [] } },
      { ...row, name: "two", user: { ...result, leftOut: [] } },
    ]);
    expect(table.split("\n").slice(2)).toEqual([
      "| one | npm | 3 of 4 | 3 of 3 | not run | not run | 2026-01-02, abc | 1 |",
      "| two | npm | not run | 3 of 4 | not run | not run | 2026-01-02, abc | nothing |",
      "",
      "1. a: b|c in this bwrap (as root and as user)",
    ]);
  });
});
