/** Commits of the demo: what reaches the project, when nothing does, and how it is taken back. */

import { spawnSync } from "node:child_process";
import { lstatSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test, vi } from "vitest";

import { selectSandbox } from "../../../examples/demo-node/sandbox.js";
import { Project } from "../../../examples/demo-node/workspace/project.js";
import { treeOf } from "../../support/tree-of.js";
import { describeSandboxed, plainEnvironment } from "../support/requirements.js";
import { tempDirectory } from "../support/temp.js";
import { makeProject, readTree, type Tree } from "./support/tree.js";

const opened: Project[] = [];

beforeEach(() => void vi.stubEnv("XDG_STATE_HOME", tempDirectory("demo-state")));
afterEach(async () => {
  for (const project of opened.splice(0)) await project.discard();
  vi.unstubAllEnvs();
});

async function runIn(project: Project, script: string): Promise<void> {
  const { exitCode, stderrText } = await project.runner.exec({ argv: ["sh", "-c", script] });
  expect({ exitCode, stderrText }).toEqual({ exitCode: 0, stderrText: "" });
}

/** A project in whose transaction a shell script has been at work. */
async function worked(tree: Tree, script: string): Promise<Project> {
  const project = await Project.open(makeProject(tree), await selectSandbox({}, () => {}));
  opened.push(project);
  await runIn(project, script);
  return project;
}

/** On the host, behind the demo's back. */
function onHost(directory: string, script: string): void {
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

const places = (matters: readonly { place: string }[]) => matters.map(({ place }) => place);

describeSandboxed("a commit", () => {
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
    const project = await worked(kTree, script);
    const expected = makeProject(kTree);
    onHost(expected, script);
    const { committed, conflicts, refused } = await project.commit();
    expect({ conflicts, refused }).toEqual({ conflicts: [], refused: [] });
    expect(committed.length).toBeGreaterThan(0);
    expect(readTree(project.directory)).toEqual(readTree(expected));
    for (const name of ["a", "run"]) {
      const [wanted, is] = [expected, project.directory].map(
        (at) => (lstatSync(join(at, name), { throwIfNoEntry: false })?.mode ?? 0) & 0o111,
      );
      expect(is).toBe(wanted);
    }
    expect((await project.changes()).changes).toEqual([]);
  });

  test("lets commands go on, and shares no file with what they write then", async () => {
    const project = await worked(kTree, "echo new > n");
    await project.commit();
    expect(lstatSync(join(project.directory, "n")).nlink).toBe(1);
    await runIn(project, "echo later > n");
    expect(readTree(project.directory).n).toBe("new\n");
    await project.commit();
    expect(readTree(project.directory).n).toBe("later\n");
  });

  test("of some paths leaves the others waiting", async () => {
    const project = await worked(kTree, "echo new > a; echo new > b; echo new > d/x");
    const { committed } = await project.commit(["a", "d"]);
    expect(committed.map(({ path }) => path)).toEqual(["a", "d/x"]);
    expect(readTree(project.directory)).toEqual({ ...kTree, a: "new\n", "d/x": "new\n" });
    expect((await project.changes()).changes.map(({ path }) => path)).toEqual(["b"]);
  });

  test("leaves files alone that the transaction has not changed", async () => {
    const project = await worked(kTree, "rm d/x; echo new > a");
    onHost(project.directory, "echo kept > d/other; echo '2, edited' > b");
    expect((await project.commit()).conflicts).toEqual([]);
    expect(readTree(project.directory)).toMatchObject({
      "d/other": "kept\n",
      b: "2, edited\n",
      a: "new\n",
    });
  });

  test("never carries a link that leaves the project, nor what lies behind one", async () => {
    const outside = tempDirectory("outside");
    const project = await worked(
      kTree,
      `ln -s ${outside} evil; rm b; ln -s /etc/passwd b; mkdir m; ln -s ../.. m/up; echo n > m/n`,
    );
    const { conflicts, leftOut } = await project.commit();
    expect(conflicts).toEqual([]);
    expect(places(leftOut)).toEqual(["b", "evil", "m/up"]);
    expect(readTree(project.directory)).toEqual({ ...kTree, "m/n": "n\n" });
    // With the link there, in the project's own right, what is below it is a conflict.
    await runIn(project, "rm evil; mkdir evil; echo x > evil/file");
    onHost(project.directory, `ln -s ${outside} evil`);
    expect(places((await project.commit()).conflicts)).toContain("evil");
    expect(readTree(outside)).toEqual({});
  });

  test("carries a file that was renamed, also where a link stays behind", async () => {
    const project = await worked(kTree, "mkdir n; mv a n/a; ln -s /etc evil; ln -s /etc n/evil");
    const { changes } = await project.changes();
    expect(changes.filter(({ kind }) => kind === ("renamed" as string))).toHaveLength(1);
    await project.commit();
    const { a, ...others } = kTree;
    expect(readTree(project.directory)).toEqual({ ...others, "n/a": a });
    expect((await project.changes()).changes).toEqual([]);
  });

  test("refuses what the host runs by itself, unless it is allowed by name", async () => {
    const project = await worked(
      { ...kTree, ".git/HEAD": "ref: refs/heads/main\n" },
      "mkdir -p .git/hooks; echo 'exit 1' > .git/hooks/pre-commit; echo x > .envrc; echo new > a",
    );
    const before = treeOf(project.directory);
    const { refused, committed } = await project.commit();
    expect(committed).toEqual([]);
    expect(places(refused)).toEqual([".envrc", ".git/hooks", ".git/hooks/pre-commit"]);
    expect(treeOf(project.directory)).toEqual(before);
    expect((await project.commit(["a", ".envrc"], [".envrc"])).refused).toEqual([]);
    expect(readTree(project.directory)).toMatchObject({ a: "new\n", ".envrc": "x\n" });
    expect(readTree(project.directory)).not.toHaveProperty(".git/hooks/pre-commit");
  });

  test("is taken back by an undo, and may be done again", async () => {
    const project = await worked(kTree, "echo new > a; rm b; mkdir n; echo new > n/f");
    const before = treeOf(project.directory);
    await project.commit();
    expect(readTree(project.directory).a).toBe("new\n");
    expect(await project.undo()).toEqual([]);
    expect(treeOf(project.directory)).toMatchObject(before);
    await project.commit();
    onHost(project.directory, "echo edited > a");
    expect(await project.undo()).toEqual([
      { place: "a", reason: "was changed in the project since" },
    ]);
    expect(readTree(project.directory).a).toBe("edited\n");
  });
});

describeSandboxed("a conflict", () => {
  test.each([
    ["changed on both sides", "echo new > a", "echo other > a", ["a"]],
    ["changed back to what it was", "echo new > a", "echo x > a; echo 1 > a", ["a"]],
    ["deleted there", "echo new > a", "rm a", ["a"]],
    ["deleted here, changed there", "rm a", "echo other > a", ["a"]],
    ["new on both sides", "echo new > n", "echo other > n", ["n"]],
    ["another mode there", "echo new > a", "chmod +x a", ["a"]],
    ["another link there", "ln -sf b l", "ln -sf d l", ["l"]],
    ["a link there", "echo new > a", "ln -sf b a", ["a"]],
    ["a FIFO there", "echo new > a", "rm a; mkfifo a", ["a"]],
    ["another file in the way", "mkdir n; echo > n/f", "echo other > n", ["n", "n/f"]],
    [
      "a directory there that is a link now",
      "echo new > d/x; echo new > d/n",
      "mv d elsewhere; ln -s elsewhere d",
      ["d/n", "d/x"],
    ],
    [
      "what is new in a directory that is to become a file",
      "rm -r d; echo new > d",
      "echo other > d/ignored",
      ["d"],
    ],
  ])("is %s, and nothing is written", async (_, here, there, expected) => {
    const project = await worked(kTree, `${here}; echo new > z; echo new > run`);
    onHost(project.directory, there);
    const before = readTree(project.directory);
    const { conflicts } = await project.commit();
    expect(places(conflicts)).toEqual(expect.arrayContaining(expected));
    expect(places(conflicts)).not.toContain("run");
    expect(readTree(project.directory)).toEqual(before);
    const { changes } = await project.changes();
    expect(changes.map(({ path }) => path)).toContain("z");
  });

  test("keeps nothing else from being committed by name", async () => {
    const project = await worked(kTree, "echo new > a; echo new > z");
    onHost(project.directory, "echo other > a");
    expect(places((await project.commit()).conflicts)).toEqual(["a"]);
    expect((await project.commit(["z"])).conflicts).toEqual([]);
    expect(readTree(project.directory)).toMatchObject({ a: "other\n", z: "new\n" });
  });
});
