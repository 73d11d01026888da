// As root too: a project of root's.
/** The project and its transaction: what commands see of it, and that it stays as it is. */

import { linkSync, mkdirSync, readdirSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test, vi } from "vitest";

import { selectSandbox } from "../../../examples/demo-node/sandbox.js";
import { Project } from "../../../examples/demo-node/workspace/project.js";
import { treeOf } from "../../support/tree-of.js";
import { describeSandboxed, isRoot } from "../support/requirements.js";
import { tempDirectory } from "../support/temp.js";
import { transactionsBelow } from "./support/run-demo.js";
import { makeProject, readTree, type Tree } from "./support/tree.js";

const opened: Project[] = [];
let state: string;

beforeEach(() => {
  state = tempDirectory("demo-state");
  vi.stubEnv("XDG_STATE_HOME", state);
});
afterEach(async () => {
  for (const project of opened.splice(0)) await project.discard();
  vi.unstubAllEnvs();
});

async function open(tree: Tree | string): Promise<Project> {
  const directory = typeof tree === "string" ? tree : makeProject(tree);
  const project = await Project.open(directory, await selectSandbox({}, () => {}));
  opened.push(project);
  return project;
}

/** Runs a script in the transaction, without a sandbox. */
async function inProject(project: Project, script: string): Promise<string> {
  const { exitCode, stdoutText, stderrText } = await project.runner.exec({
    argv: ["sh", "-c", script],
  });
  expect({ exitCode, stderrText }).toEqual({ exitCode: 0, stderrText: "" });
  return stdoutText;
}

const placesOf = (changes: readonly { path: string }[]) => changes.map(({ path }) => path);

describeSandboxed("what commands see", () => {
  test("is the project: its files, links, empty directories, and what git ignores", async () => {
    const project = await open({
      "a.txt": "text",
      "bin/run": "#!/bin/sh\necho ran\n",
      "deep/er/b": "bytes \u{1f600}",
      "empty/": "",
      link: "-> deep/er/b",
      "-rf": "a leading dash",
      "new\nline": "a newline",
      ".gitignore": "node_modules\n",
      "node_modules/x": "there",
      ".git/HEAD": "ref: refs/heads/main\n",
    });
    const seen = await inProject(
      project,
      "find . -mindepth 1 -print0 | sort -z; bin/run; cat link",
    );
    const names = seen.split("\0").slice(0, -1);
    const wanted = readdirSync(project.directory, { recursive: true, encoding: "utf8" });
    expect(names.sort()).toEqual(wanted.map((name) => `./${name}`).sort());
    expect(seen.endsWith("ran\nbytes \u{1f600}")).toBe(true);
    expect(await project.changes()).toEqual({ changes: [], leftOut: [] });
  });

  test("may be changed, links of one file too, and the project stays as it is", async () => {
    const directory = makeProject({ one: "before", "d/x": "1" });
    linkSync(join(directory, "one"), join(directory, "two"));
    const before = treeOf(directory);
    const project = await open(directory);
    await inProject(project, "echo changed > one; rm -r d; echo new > n");
    expect(treeOf(directory)).toEqual(before);
    expect(statSync(join(directory, "two")).nlink).toBe(2);
    expect(placesOf((await project.changes()).changes)).toEqual(["d", "d/x", "n", "one"]);
    expect(await inProject(project, "cat one n")).toBe("changed\nnew\n");
  });

  test("lies in a place that only its owner can look into, and goes with it", async () => {
    const project = await open({ a: "" });
    const directory = join(transactionsBelow(state), project.id);
    expect(statSync(directory).mode & 0o777).toBe(0o700);
    await inProject(
      project,
      `mkdir -p shut/in; echo x > shut/in/side; chmod 0 shut/in; chmod 0 shut
       long=$(printf '%0200d/' 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15); mkdir -p "$long"`,
    );
    await project.discard();
    expect(readdirSync(transactionsBelow(state))).toEqual([]);
  });

  test("is had without a copy, however many files there are", async () => {
    const directory = tempDirectory("large");
    for (let file = 0; file < 1000; file += 1) writeFileSync(join(directory, `file${file}`), "x");
    const project = await open(directory);
    expect(await inProject(project, "ls | wc -l")).toBe("1000\n");
    const upper = join(transactionsBelow(state), project.id, "upper");
    expect(readdirSync(upper)).toEqual([]);
  });

  test("is not had of what is no directory, nor where it would lie in the project", async () => {
    const project = makeProject({ a: "" });
    for (const name of ["a", "b"]) {
      const opening = Project.open(join(project, name), await selectSandbox({}, () => {}));
      await expect(opening).rejects.toThrow(/--project .* no directory/);
    }
    vi.stubEnv("XDG_STATE_HOME", join(project, "state"));
    await expect(open(project)).rejects.toThrow(/outside of the workspace/);
  });
});

describeSandboxed("whatever a command leaves in it", () => {
  test("is looked at without following, waiting or failing", async () => {
    const project = await open({ a: "1", "d/x": "2", s: "3" });
    await inProject(
      project,
      `rm -r d; ln -s /etc d; rm a; mkfifo a; ln -s ../../x leaving; truncate -s 300M large
       mkdir -p shut/in; echo x > shut/in/side; echo y > fine; rm s; ln -s fine s`,
    );
    const { changes, leftOut } = await project.changes();
    expect(leftOut).toEqual([
      { place: "a", reason: "not a file, directory or link" },
      { place: "d", reason: "a link that leaves the project (/etc)" },
      { place: "leaving", reason: "a link that leaves the project (../../x)" },
    ]);
    const places = ["d/x", "fine", "large", "s", "shut", "shut/in", "shut/in/side"];
    expect(placesOf(changes)).toEqual(places);
  });

  test("may be unreadable: it is told, and not taken for deleted", async () => {
    const project = await open({ "d/x": "1", f: "2" });
    await inProject(project, "chmod 0 d f; echo new > g");
    const { changes } = await project.changes();
    const kinds = changes.map(({ kind, path }) => `${kind} ${path}`);
    expect(kinds).toEqual(["modified d", "modified f", "added g"]);
    expect(isRoot || statSync(join(project.directory, "d")).mode & 0o700).toBeTruthy();
  });
});

describeSandboxed("the files of tools", () => {
  test("are those that commands see, and what they write is a change", async () => {
    const project = await open({ a: "1\n" });
    await inProject(project, "echo 2 > a");
    expect(await project.files.readText("a")).toBe("2\n");
    await project.files.write("made", "by a tool\n");
    expect(await inProject(project, "cat made")).toBe("by a tool\n");
    expect(placesOf((await project.changes()).changes)).toEqual(["a", "made"]);
    expect(readTree(project.directory)).toEqual({ a: "1\n" });
    mkdirSync(join(project.directory, "later"));
    writeFileSync(join(project.directory, "later/file"), "");
  });
});
