/** Commits from the shadow workspace into the project: what is carried over, and when nothing is. */

import { spawnSync } from "node:child_process";
import { chmodSync, lstatSync, mkdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, describe, expect, test } from "vitest";

import type { Change } from "../../../examples/demo-node/workspace/change.js";
import { commitChanges } from "../../../examples/demo-node/workspace/commit.js";
import { compareWithProject } from "../../../examples/demo-node/workspace/conflict.js";
import { ShadowWorkspace } from "../../../examples/demo-node/workspace/shadow.js";
import { plainEnvironment } from "../support/gate.js";
import { tempDirectory } from "../support/temp.js";
import { makeProject, readTree, type Tree, writeTree } from "./support/tree.js";

const opened: ShadowWorkspace[] = [];

afterEach(async () => {
  for (const shadow of opened.splice(0)) await shadow.remove();
});

/** A shadow of a project in which a shell script has been at work. */
async function worked(tree: Tree, script: string): Promise<ShadowWorkspace> {
  const shadow = await ShadowWorkspace.of(makeProject(tree));
  opened.push(shadow);
  runIn(shadow.directory, script);
  return shadow;
}

function runIn(directory: string, script: string): void {
  const done = spawnSync("sh", ["-c", script], {
    cwd: directory,
    encoding: "utf8",
    env: plainEnvironment(),
  });
  expect({ status: done.status, stderr: done.stderr }).toEqual({ status: 0, stderr: "" });
}

const kTree = {
  ".gitignore": "ignored\n",
  a: "1\n",
  b: "2\n",
  "d/x": "3\n",
  "d/y": "4\n",
  "empty/": "",
  l: "-> a",
  run: "#!/bin/sh\n",
};

describe("a commit", () => {
  test.each([
    ["a changed file", "echo new > a"],
    ["a new file, in new directories", "mkdir -p n/m; echo new > n/m/f"],
    ["a new empty directory", "mkdir n"],
    ["a deleted file, directory and link", "rm -r a d l"],
    ["an emptied directory that is gone", "rmdir empty"],
    ["a moved directory", "mv d e"],
    ["a new mode", "chmod +x a; chmod -x run"],
    ["a new link, and one that leads elsewhere", "ln -s d/x n; ln -sf b l"],
    ["a file that became a directory", "rm a; mkdir a; echo new > a/f"],
    ["a directory that became a file", "rm -r d; echo new > d"],
    ["a link that became a file, and a file that became a link", "rm l b; echo new > l; ln -s a b"],
    ["names that shells stumble over", "echo new > ./-n; echo new > 'a b'; echo new > '$(x)'"],
  ])("carries %s over, and then there is nothing more to commit", async (_, script) => {
    const shadow = await worked(kTree, script);
    writeTree(shadow.project, { ignored: "kept" });
    const { changes, conflicts } = await shadow.commit();
    expect(conflicts).toEqual([]);
    expect(changes.length).toBeGreaterThan(0);
    expect(readTree(shadow.project)).toEqual({ ...readTree(shadow.directory), ignored: "kept" });
    for (const name of ["a", "run"]) {
      const [inside, outside] = [shadow.directory, shadow.project].map(
        (at) => (lstatSync(join(at, name), { throwIfNoEntry: false })?.mode ?? 0) & 0o111,
      );
      expect(outside).toBe(inside);
    }
    expect((await shadow.changes()).changes).toEqual([]);
  });

  test("shares no file with the workspace afterwards", async () => {
    const shadow = await worked(kTree, "echo new > n");
    await shadow.commit();
    expect(statSync(join(shadow.project, "n")).nlink).toBe(1);
    runIn(shadow.directory, "echo later > n");
    expect(readTree(shadow.project).n).toBe("new\n");
  });

  test("keeps who may read a file, and takes no mode of a command's", async () => {
    const project = makeProject({ private: "1" });
    chmodSync(join(project, "private"), 0o600);
    const shadow = await ShadowWorkspace.of(project);
    opened.push(shadow);
    runIn(shadow.directory, "chmod 777 private; echo 2 > new; chmod 6777 new");
    expect((await shadow.commit()).conflicts).toEqual([]);
    expect(statSync(join(project, "private")).mode & 0o7777).toBe(0o700);
    expect(statSync(join(project, "new")).mode & 0o7777).toBe(0o777 & ~process.umask());
  });

  test("is no conflict where the project already is as it is to become", async () => {
    const shadow = await worked(kTree, "echo new > a; rm b; mkdir n; echo more > n/f");
    runIn(shadow.project, "echo new > a; rm b; mkdir n");
    expect((await shadow.commit()).conflicts).toEqual([]);
    expect(readTree(shadow.project)).toEqual(readTree(shadow.directory));
  });

  test("leaves files alone that it does not know of", async () => {
    const shadow = await worked(kTree, "rm -r d; echo new > a");
    writeTree(shadow.project, { "d/ignored": "kept", other: "kept", b: "2, edited\n" });
    expect((await shadow.commit()).conflicts).toEqual([]);
    expect(readTree(shadow.project)).toMatchObject({
      "d/ignored": "kept",
      other: "kept",
      b: "2, edited\n",
      a: "new\n",
    });
  });

  test("never carries a link that leaves the project, nor what lies behind one", async () => {
    const outside = tempDirectory("outside");
    const shadow = await worked(
      kTree,
      `ln -s ${outside} evil; rm b; ln -s /etc/passwd b; echo n > n`,
    );
    const { conflicts, leftOut } = await shadow.commit();
    expect(conflicts).toEqual([]);
    expect(leftOut.map(({ place }) => place).sort()).toEqual(["b", "evil"]);
    expect(readTree(shadow.project)).toEqual({ ...kTree, n: "n\n" });
    // With the link there, in the project's own right, what is below it is a conflict.
    runIn(shadow.directory, "rm evil; mkdir evil; echo x > evil/file");
    runIn(shadow.project, `ln -s ${outside} evil`);
    expect((await shadow.commit()).conflicts).toEqual([
      { place: "evil", reason: "exists in the project, but not in the copy that was made" },
    ]);
    expect(readTree(outside)).toEqual({});
  });
});

describe("a conflict", () => {
  const exists = "exists in the project, but not in the copy that was made";
  const changed = "was changed in the project meanwhile";

  test.each([
    ["changed on both sides", "echo new > a", "echo other > a", [["a", changed]]],
    ["deleted there", "echo new > a", "rm a", [["a", "was deleted in the project meanwhile"]]],
    ["deleted here, changed there", "rm a", "echo other > a", [["a", changed]]],
    ["new on both sides", "echo new > n", "echo other > n", [["n", exists]]],
    ["another mode there", "echo new > a", "chmod +x a", [["a", changed]]],
    ["another link there", "ln -sf b l", "ln -sf d l", [["l", changed]]],
    [
      "a link there",
      "echo new > a",
      "ln -sf b a",
      [["a", "became a link in the project meanwhile"]],
    ],
    [
      "a FIFO there",
      "echo new > a",
      "rm a; mkfifo a",
      [["a", "not a file, directory or link in the project"]],
    ],
    [
      "an ignored file in the way",
      "rm .gitignore; mkdir n; echo > n/f",
      "echo other > n",
      [["n", exists]],
    ],
    [
      "a directory there that is a link now",
      "echo new > d/x; echo new > d/n",
      "mv d elsewhere; ln -s elsewhere d",
      [
        ["d/n", "d is no directory in the project"],
        ["d/x", "d is no directory in the project"],
      ],
    ],
    [
      "what stays in a directory that is to become a file",
      "rm -r d; echo new > d",
      "echo other > d/ignored",
      [["d", "holds files that are not in the copy"]],
    ],
  ])("is %s, and nothing is written", async (_, here, there, expected) => {
    const shadow = await worked(kTree, `${here}; echo new > z; echo new > run`);
    runIn(shadow.project, there);
    const before = readTree(shadow.project);
    const { conflicts } = await shadow.commit();
    expect(conflicts).toEqual(expected.map(([place, reason]) => ({ place, reason })));
    expect(readTree(shadow.project)).toEqual(before);
    expect((await shadow.changes()).changes.map(({ place }) => place)).toContain("z");
  });

  test("can be resolved in the project, and then committed", async () => {
    const shadow = await worked(kTree, "echo new > a; echo new > z");
    runIn(shadow.project, "echo other > a");
    expect((await shadow.commit()).conflicts).toHaveLength(1);
    runIn(shadow.project, "echo 1 > a");
    expect((await shadow.commit()).conflicts).toEqual([]);
    expect(readTree(shadow.project)).toEqual(readTree(shadow.directory));
  });
});

test("a commit that fails half-way puts everything back", async () => {
  const script = "echo new > a; rm b; mkdir n; echo new > n/f; rm -r d; echo new > d";
  const shadow = await worked(kTree, script);
  const before = readTree(shadow.project);
  const { changes } = await shadow.changes();
  const places = { project: shadow.project, shadow: shadow.directory };
  const impossible = {
    place: "z/nowhere",
    before: undefined,
    after: { kind: "link", target: "a" },
  };
  await expect(commitChanges([...changes, impossible as Change], places)).rejects.toThrow(/ENOENT/);
  expect(readTree(shadow.project)).toEqual(before);
  expect(await commitChanges(changes, places)).toEqual([]);
  expect(readTree(shadow.project)).toEqual(readTree(shadow.directory));
});

test("a commit that is rolled back leaves what was saved in the project meanwhile", async () => {
  const shadow = await worked(kTree, "echo new > a; echo new > b; rm l");
  const { changes } = await shadow.changes();
  const places = { project: shadow.project, shadow: shadow.directory };
  // An editor that saves each file again as soon as the commit has taken it away, or replaced it.
  const saved = new Set<string>();
  const save = () => {
    for (const name of ["a", "b", "l"]) {
      const file = join(shadow.project, name);
      const now = lstatSync(file, { throwIfNoEntry: false });
      if (now !== undefined && readTree(shadow.project)[name] === kTree[name as "a"]) continue;
      rmSync(file, { force: true });
      writeFileSync(file, "saved\n");
      saved.add(name);
    }
  };
  const impossible = {
    place: "z/nowhere",
    before: undefined,
    get after() {
      save(); // asked for before each step, and last when everything else is done
      return { kind: "link", target: "a" };
    },
  };
  await expect(
    commitChanges([...changes, impossible as unknown as Change], places),
  ).rejects.toThrow();
  expect(saved).toEqual(new Set(["a", "b", "l"]));
  expect(readTree(shadow.project)).toEqual({ ...kTree, a: "saved\n", b: "saved\n", l: "saved\n" });
});

test("what is compared with the project is what would be written", async () => {
  const shadow = await worked(kTree, "echo new > a; rm b");
  rmSync(join(shadow.project, "b"));
  mkdirSync(join(shadow.project, "unrelated"));
  writeFileSync(join(shadow.project, "unrelated/file"), "");
  const { changes } = await shadow.changes();
  const { conflicts, pending } = await compareWithProject(shadow.project, changes);
  expect(conflicts).toEqual([]);
  expect(pending.map(({ place }) => place)).toEqual(["a"]);
});
