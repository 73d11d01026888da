// As root too: owners, modes and mounts differ for root.
/** Names, depths and types that somebody chose to get a commit to go wrong. */

import { spawnSync } from "node:child_process";
import {
  existsSync,
  linkSync,
  mkdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";

import { buildProbe } from "../../support/probe.js";
import { describeSandboxed, isRoot, testUnless } from "../../support/requirements.js";
import { run } from "../../support/results.js";
import { tempDirectory } from "../../support/temp.js";
import { openTransaction } from "../../support/transactions.js";
import { workspaceWithAll } from "../tree-scripts.js";
import { expectCommits, expectSameTree, manifestOf } from "./compare-trees.js";

/** 15 directories of 250 bytes and a file: 4,000 bytes, of the 4,095 that a path can have. */
const kDown = `d=$(printf %0250d 0); i=0; while [ $i -lt 15 ]; do mkdir -p $d; cd $d; i=$((i+1)); done`;

const kOdd: [string, string][] = [
  [
    "bytes that are no UTF-8, and newlines",
    "for n in 'a\\377' 'b\\n' '\\303' '\\n\\n' ' \\t' '\\355\\240\\200'; do printf x > \"$(printf \"$n\"; printf .)\"; done",
  ],
  ["a path of 4,095 bytes", `${kDown}; echo deep > $(printf %0250d 1 | head -c 78)`],
  ["twins but for case", "echo 1 > Twin; echo 2 > tWIN; mkdir DIR; echo 3 > DIR/X; rm dir/x"],
  ["names of 255 bytes", "for c in a b; do echo $c > $(printf %0255d 0 | tr 0 $c); done"],
  [
    "a file, a directory and back, many times",
    "for i in 1 2 3 4 5; do rm -r a; mkdir a; echo $i > a/x; rm -r a; echo $i > a; done; rm -r dir; echo f > dir",
  ],
  [
    "a directory under each name of its own",
    "mkdir -p dir/dir/dir; rm -r dir; mkdir -p dir/dir; echo x > dir/dir/dir",
  ],
  [
    "links in the places of directories",
    "rm -r dir other; ln -s / dir; ln -s ../.. other; ln -s . o",
  ],
  [
    "links that lead around",
    "rm link; ln -s link link; ln -s a/../b/ c2; ln -s '' e 2> /dev/null; ln -s . d2",
  ],
  [
    "modes of all kinds",
    "for m in 0 111 222 444 1777 2755 4755 6711; do echo $m > m$m; chmod $m m$m; done",
  ],
];

describeSandboxed("a commit of", () => {
  test.each(kOdd)("%s is what a plain run makes", async (_, script) => {
    await expectCommits(workspaceWithAll(), script);
  });

  test("a tree that the host has as deep", async () => {
    const workspace = workspaceWithAll();
    const made = spawnSync("bash", ["-c", `${kDown}; echo host > f; mkdir g; echo host > g/h`], {
      cwd: workspace,
    });
    expect(made.status).toBe(0);
    await expectCommits(workspace, `${kDown}; echo mine > f; rm -r g; mkdir g; echo mine > g/i`);
  });
});

describeSandboxed("what the host has", () => {
  test("under another name outside stays as it is", async () => {
    const workspace = tempDirectory();
    const outside = tempDirectory("outside");
    writeFileSync(join(outside, "secret"), "host\n");
    linkSync(join(outside, "secret"), join(workspace, "linked"));
    symlinkSync(outside, join(workspace, "dir"));
    const before = manifestOf(outside);
    const { transaction } = await openTransaction(workspace);
    const script = "echo mine > linked; rm dir; mkdir dir; echo mine > dir/secret";
    expect(await run(transaction, script)).toMatchObject({ exitCode: 0 });
    await transaction.commit();
    expect(readFileSync(join(workspace, "linked"), "utf8")).toBe("mine\n");
    expect(readFileSync(join(workspace, "dir/secret"), "utf8")).toBe("mine\n");
    expect(manifestOf(outside)).toEqual(before);
    await transaction.undo();
    expect(statSync(join(workspace, "linked")).ino).toBe(statSync(join(outside, "secret")).ino);
    await transaction.discard();
  });

  test("is reached by no link that the transaction has put on the way", async () => {
    const workspace = workspaceWithAll();
    const outside = tempDirectory("outside");
    mkdirSync(join(outside, "sub"));
    for (const name of ["x", "y", "sub/z"]) writeFileSync(join(outside, name), "host\n");
    const before = manifestOf(outside);
    const { transaction } = await openTransaction(workspace);
    const script = `echo mine > dir/x; rm dir/sub/z; mv dir gone; rm -r gone; ln -s ${outside} dir`;
    await run(transaction, script);
    expect(await transaction.diff()).not.toContain("-host");
    await transaction.commit();
    expect(manifestOf(outside)).toEqual(before);
    await transaction.undo();
    expect(manifestOf(outside)).toEqual(before);
    await transaction.discard();
  });
});

describeSandboxed("what no file is", () => {
  test("stays in `left`, and holds nothing up", async () => {
    const workspace = workspaceWithAll();
    const before = manifestOf(workspace);
    const { transaction } = await openTransaction(workspace);
    await run(transaction, "rm a; mkfifo a; mkfifo dir/fifo; mkdir p; mkfifo p/q; echo x > p/file");
    const changes = await transaction.changes();
    const others = changes.filter(({ type }) => type === "other").map(({ path }) => path);
    expect(others).toEqual(["a", "dir/fifo", "p/q"]);
    expect(await transaction.diff()).toContain("+++ b/p/file\n");
    const { committed, left } = await transaction.commit();
    expect(committed.map(({ path }) => path)).toEqual(["p", "p/file"]);
    expect(left.map(({ path }) => path)).toEqual(others);
    await transaction.undo();
    expect(manifestOf(workspace)).toEqual(before);
    await transaction.discard();
  });

  testUnless(isRoot ? undefined : "only root can make devices", "nor do the host's", async () => {
    const workspace = workspaceWithAll();
    for (const [name, ...words] of [
      ["null", "c", "1", "3"],
      ["pipe", "p"],
    ] as [string, ...string[]][])
      expect(spawnSync("mknod", [join(workspace, name), ...words]).status).toBe(0);
    const { transaction } = await openTransaction(workspace);
    expect(await transaction.changes()).toEqual([]);
    await run(transaction, "rm null pipe; echo mine > null; echo mine > a");
    const { committed, left } = await transaction.commit();
    expect(committed.map(({ path }) => path)).toEqual(["a"]);
    expect(left.map(({ path, type }) => `${type} ${path}`)).toEqual(["file null", "other pipe"]);
    expect(statSync(join(workspace, "null")).isCharacterDevice()).toBe(true);
    await transaction.discard();
  });
});

describeSandboxed("what an overlay notes", () => {
  const kAttributes = [
    "opaque",
    "redirect",
    "metacopy",
    "origin",
    "whiteout",
    "whiteouts",
    "impure",
  ];

  /** The probe lies in the workspace, and is no change. */
  async function probed() {
    const workspace = workspaceWithAll();
    buildProbe(workspace);
    return openTransaction(workspace);
  }

  test("can't be made by a command: a whiteout", async () => {
    const { transaction, workspace } = await probed();
    expect(await run(transaction, "./probe mknod made whiteout")).toMatchObject({ out: "EPERM" });
    expect(await run(transaction, "./probe mknod b2 fifo"), "the control").toMatchObject({
      out: "OK",
    });
    await run(
      transaction,
      "rm b2; mkdir n; ./probe mknod n/b whiteout; ./probe mknod dir/x whiteout",
    );
    expect((await transaction.changes()).map(({ path }) => path)).toEqual(["n"]);
    expect(existsSync(join(workspace, "dir/x"))).toBe(true);
    await transaction.discard();
  });

  describe.each(["user.overlay", "trusted.overlay"])("%s.*", (space) => {
    test.each(kAttributes)("%s", async (name) => {
      const { transaction, workspace } = await probed();
      const before = manifestOf(workspace);
      const set = (path: string) => `./probe set-attribute ${path} ${space}.${name} y`;
      const paths = ["a", "dir", "dir/sub", "empty", "."];
      const { out } = await run(transaction, paths.map(set).join("; "));
      if (space === "trusted.overlay") expect(new Set(out.split("\n"))).toEqual(new Set(["EPERM"]));
      const changes = (await transaction.changes()).filter(({ kind }) => kind !== "modified");
      expect(changes).toEqual([]);
      expect(await run(transaction, "ls dir")).toMatchObject({ out: "sub\nx\ny" });
      const control = "./probe set-attribute made user.note y";
      expect(await run(transaction, `echo x > made; ${control}`)).toMatchObject({ out: "OK" });
      await run(transaction, "rm made");
      await transaction.commit();
      expect(manifestOf(workspace)).toEqual(before);
      await transaction.discard();
    });
  });
});

describeSandboxed("the manifest", () => {
  test("tells trees apart", () => {
    const one = workspaceWithAll();
    const other = workspaceWithAll();
    expectSameTree(one, other);
    writeFileSync(join(other, "dir/x"), "else\n");
    expect(() => expectSameTree(one, other)).toThrow();
  });
});
