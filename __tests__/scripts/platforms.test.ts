import { describe, expect, it } from "vitest";

import { contradictions, lackingRuntimes } from "../../scripts/platforms/containers/doctor.mjs";
import { unexpected } from "../../scripts/platforms/expected.mjs";
import { readConsole } from "../../scripts/platforms/machines/console.mjs";
import { misdiagnoses } from "../../scripts/platforms/machines/doctor.mjs";
import { mergedTable, tableOf } from "../../scripts/platforms/table.mjs";

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
      { ...row, name: "two", user: { ...result, leftOut: [], importMs: 12, firstMs: 34 } },
    ]);
    expect(table.split("\n").slice(2)).toEqual([
      "| one | npm | 3 of 4 | 3 of 3 | not run | not run | not run | not run | 2026-01-02, abc | 1 |",
      "| two | npm | not run | 3 of 4 | 12, 34 | not run | not run | not run | 2026-01-02, abc | nothing |",
      "",
      "1. a: b|c in this bwrap (as root and as user)",
    ]);
  });

  it("says what doctor misses where nothing can be tried", () => {
    const user = { passed: 0, failed: [], leftOut: [], lacks: ["landlock: no such kernel"] };
    const table = tableOf([{ ...row, user }]);
    expect(table).toContain("\n| one | npm | not run | not run | not run | not run | not run |");
    expect(table).toContain(" | 1 |\n\n1. landlock: no such kernel (as user)");
  });

  it("says what has failed, whatever passed", () => {
    const failed = [`root: units has not ended, see ${process.cwd()}/build/x\nmore`];
    const table = tableOf([{ ...row, failed, units: { passed: 3, failed: [] } }]);
    expect(table).toContain(" | 3 of 3 | not run | not run | 2026-01-02, abc | 1 |");
    expect(table).toContain("\n\n1. **failed**: root: units has not ended, see build/x");
    expect(table).not.toContain("more");
  });

  it("keeps the rows of platforms that were not run this time, and their reasons", () => {
    const names = ["two", "one", "three"];
    const gone = { ...row, name: "gone", user: { ...result, leftOut: ["of what is gone"] } };
    const before = tableOf([{ ...row, root: result }, { ...row, name: "two", user: result }, gone]);
    const newer = { ...row, name: "two", commit: "def", user: { ...result, leftOut: ["other"] } };
    const after = mergedTable(before, [newer], names);
    expect(after).toBe(tableOf([newer, { ...row, root: result }]));
    expect(mergedTable(after, [], names)).toBe(after);
  });
});

describe("an emulated machine's console", () => {
  const kText =
    "\u001b[2J@@ kernel 6.1 x86_64\r\n@@ begin smoke root\r\n{}\r\n@@ end smoke root 3\r\n";

  it("is read in parts", () => {
    const root = { work: "smoke", user: "root", output: "{}\n", code: 3 };
    const cut = `${kText}@@ begin units user\r\n[ RUN ]\r\n`;
    const user = { work: "units", user: "user", output: "[ RUN ]\n\n", code: undefined };
    expect(readConsole(cut)).toEqual({
      kernel: "6.1 x86_64",
      isDone: false,
      parts: [root, user],
    });
    expect(readConsole(`${kText}@@ done\r\n`)).toMatchObject({ isDone: true, parts: [root] });
  });
});

describe("what doctor says of a kernel", () => {
  const report = (landlockAbi: number, layers: string[]) =>
    JSON.stringify({
      chosen: "bubblewrap",
      host: { landlockAbi },
      runtimes: [
        { name: "bubblewrap", available: true, layers: [] },
        { name: "landlock", available: landlockAbi > 0, layers: ["seccomp", ...layers] },
      ],
    });

  it("is compared with what that kernel has", () => {
    expect(misdiagnoses(report(0, []), { landlockAbi: 0 })).toEqual([]);
    expect(misdiagnoses(report(2, ["landlock-fs"]), { landlockAbi: 2 })).toEqual([]);
    const all = ["landlock-fs", "landlock-tcp", "landlock-scope"];
    expect(misdiagnoses(report(7, all), { landlockAbi: 7 })).toEqual([]);
    expect(misdiagnoses(report(4, all), { landlockAbi: 4 })).toEqual([
      'doctor says of Landlock\'s layers: ["landlock-fs","landlock-tcp","landlock-scope"], ' +
        'not ["landlock-fs","landlock-tcp"]',
    ]);
    expect(misdiagnoses(report(2, ["landlock-fs"]), { landlockAbi: 6 })).toHaveLength(2);
    expect(misdiagnoses("Segmentation fault", { landlockAbi: 6 })[0]).toContain(
      "Segmentation fault",
    );
  });

  it("names the profile of AppArmor that refuses", () => {
    const layers = ["landlock-fs"];
    const report = (bubblewrap: object, chosen: string) =>
      JSON.stringify({
        chosen,
        host: { landlockAbi: 1 },
        runtimes: [
          { name: "bubblewrap", ...bubblewrap },
          { name: "landlock", available: true, layers },
        ],
      });
    const known = { landlockAbi: 1, refusing: "host" };
    const fix = "AppArmor's profile host confines this process";
    expect(misdiagnoses(report({ available: false, fix }, "landlock"), known)).toEqual([]);
    expect(misdiagnoses(report({ available: false }, "landlock"), known)).toHaveLength(1);
    expect(misdiagnoses(report({ available: true }, "bubblewrap"), known)).toHaveLength(3);
    expect(
      misdiagnoses(report({ available: false, fix }, "landlock"), { landlockAbi: 1 }),
    ).toHaveLength(2);
  });
});

describe("what doctor says in a container", () => {
  const report = (more: object = {}) => ({
    host: { container: "podman" },
    nesting: { nested: true },
    chosen: "landlock",
    runtimes: [
      { name: "bubblewrap", available: false, reason: "no", fix: "start it with unmask=ALL" },
      { name: "landlock", available: true },
    ],
    ...more,
  });
  const said = (more?: object) => contradictions(JSON.stringify(report(more)), /unmask=ALL/);

  it("is compared with what works there", () => {
    expect(said()).toEqual([]);
    expect(said({ chosen: null })).toEqual(["doctor: auto takes null"]);
    expect(said({ host: {} })).toEqual(["doctor: it sees no container"]);
    expect(contradictions(JSON.stringify(report()), /seccomp/)).toEqual([
      "doctor: its fix for bubblewrap is start it with unmask=ALL (no)",
    ]);
    expect(contradictions("node: not found", /x/)[0]).toContain("node: not found");
    expect(lackingRuntimes(JSON.stringify(report()))).toEqual(["bubblewrap: no"]);
  });
});
