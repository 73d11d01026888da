/** `changes` says what a transaction's commands have made of the workspace: all of it, and no more. */

import { existsSync, renameSync, rmSync, symlinkSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";

import type { Transaction } from "../support/package.js";
import { testUnless } from "../support/requirements.js";
import { run } from "../support/results.js";
import { describeBackends, differences, pastTick } from "../support/transactions.js";
import { changedCopy, kScripts, workspaceWithAll } from "./tree-scripts.js";

/** The same script on a copy of the workspace: what it really does to a tree. */
const expected = async (workspace: string, script: string) =>
  differences(workspace, await changedCopy(workspace, script));

describeBackends("changes", (openTransaction) => {
  test.each(kScripts)("%s", async (_, script) => {
    const workspace = workspaceWithAll();
    const { transaction } = await openTransaction(workspace);
    expect(await run(transaction, script)).toMatchObject({ err: "", exitCode: 0 });
    expect(await transaction.changes()).toEqual(await expected(workspace, script));
    await transaction.discard();
  });

  test("all of them, one after the other, in one transaction", async () => {
    const workspace = workspaceWithAll();
    const { transaction } = await openTransaction(workspace);
    let script = "";
    for (const [name, next] of kScripts) {
      script = `${script}( ${next} ) 2> /dev/null\n`;
      await run(transaction, `( ${next} ) 2> /dev/null`);
      expect(await transaction.changes(), name).toEqual(await expected(workspace, script));
    }
    await transaction.discard();
  }, 120_000);

  test("of some paths, with all below them", async () => {
    const { transaction } = await openTransaction(workspaceWithAll());
    await run(
      transaction,
      "echo 1 > a; echo 1 > dir/x; echo 1 > dir/sub/z; echo 1 > dirx; rm -r other",
    );
    const paths = async (...given: string[]) =>
      (await transaction.changes({ paths: given })).map(({ path }) => path);
    expect(await paths("dir")).toEqual(["dir/sub/z", "dir/x"]);
    expect(await paths("./dir//sub/", "a")).toEqual(["a", "dir/sub/z"]);
    expect(await paths("other")).toEqual(["other", "other/o"]);
    expect(await paths("missing")).toEqual([]);
    expect(await paths()).toEqual([]);
    expect(await paths(".")).toEqual((await transaction.changes()).map(({ path }) => path));
    for (const wrong of ["", "/a", "..", "dir/../../x", "a\0"]) {
      const refused = expect(paths(wrong), wrong).rejects;
      await refused.toMatchObject({ code: "ERR_INVALID_ARG_VALUE", name: "TypeError" });
    }
    await transaction.discard();
    await expect(transaction.changes()).rejects.toMatchObject({ code: "ERR_SANDBOX_CLOSED" });
  });

  const kPython = "/usr/bin/python3";
  testUnless(
    existsSync(kPython) ? undefined : `there is no ${kPython}`,
    "extended attributes, and forged ones of overlayfs'",
    async () => {
      const { transaction } = await openTransaction(workspaceWithAll());
      const set = (file: string, name: string, value: string) =>
        `try: os.setxattr("${file}", "${name}", b"${value}")\nexcept OSError: pass\n`;
      const forged =
        set("dir", "user.overlay.opaque", "y") +
        set("dir", "user.overlay.redirect", "/etc") +
        set("b", "user.overlay.whiteout", "y") +
        set("b", "user.overlay.metacopy", "");
      const mknod = 'try: os.mknod("c", 0o20600)\nexcept OSError: pass\n';
      await run(transaction, [kPython, "-c", `import os\n${forged}${mknod}`]);
      expect(await transaction.changes()).toEqual([]);
      await run(transaction, [kPython, "-c", `import os\n${set("a", "user.note", "x")}`]);
      const seen = await transaction.changes();
      expect(seen).toMatchObject([{ path: "a", kind: "modified", size: 2, previousSize: 2 }]);
      await transaction.discard();
    },
  );

  test("names that are no UTF-8, and trees as deep as a path can be", async () => {
    const { transaction } = await openTransaction();
    await run(transaction, "printf x > \"$(printf 'a\\377b')\"");
    expect(await transaction.changes()).toMatchObject([{ path: "a\ufffdb", kind: "added" }]);
    await run(
      transaction,
      "rm a*; d=$(printf %0250d 0); i=0; while [ $i -lt 16 ]; do mkdir $d; cd $d; i=$((i+1)); done",
    );
    expect(await transaction.changes()).toHaveLength(16);
    await run(
      transaction,
      "d=$(printf %0250d 0); i=0; while [ -d $d ]; do cd $d; done; mkdir $d; cd $d; mkdir $d",
    );
    expect(await transaction.changes()).toHaveLength(17); // longer than the kernel takes at once
    await transaction.discard();
  });

  test("in directories that keep their owner out, which stay so", async () => {
    const { transaction } = await openTransaction(workspaceWithAll());
    const make = "mkdir -p k/l/m n; echo in > k/l/m/x; echo in > n/y; echo x > dir/sub/new";
    const shut = "chmod 0 k/l/m k; chmod 400 n; chmod 100 dir/sub; chmod 300 dir";
    expect(await run(transaction, `${make}; ${shut}`)).toMatchObject({ exitCode: 0 });
    const paths = async () => (await transaction.changes()).map(({ path }) => path);
    const all = ["dir", "dir/sub", "dir/sub/new", "k", "k/l", "k/l/m", "k/l/m/x", "n", "n/y"];
    expect(await paths()).toEqual(all);
    expect(await transaction.diff()).toContain("+++ b/k/l/m/x\n");
    expect(await run(transaction, "stat -c %a k n dir")).toMatchObject({ out: "0\n400\n300" });
    expect(await paths()).toEqual(all);
    await transaction.discard();
  });

  test("while commands go on", async () => {
    const { transaction } = await openTransaction(workspaceWithAll());
    const churn =
      "while :; do mkdir -p q/r; echo 1 > q/r/s; mv q w; rm -r w; rm -rf dir; mkdir dir; done";
    const controller = new AbortController();
    const running = transaction.exec({ argv: ["sh", "-c", churn], signal: controller.signal });
    for (let left = 50; left > 0; left -= 1) {
      const changes = await transaction.changes().catch((error: Error) => error);
      if (changes instanceof Error) expect(changes).toMatchObject({ code: "ERR_SANDBOX_SETUP" });
    }
    controller.abort();
    await running;
    await transaction.discard();
  });
});

const kHostEdits: [string, (workspace: string) => void, string[]][] = [
  ["nothing", () => {}, []],
  ["another file", (at) => writeFileSync(join(at, "c"), "host"), []],
  ["a file, in place", (at) => writeFileSync(join(at, "a"), "host"), ["a"]],
  [
    "a file, with its old time and size",
    (at) => {
      writeFileSync(join(at, "a"), "A\n");
      utimesSync(join(at, "a"), 1000, 1000);
    },
    ["a"],
  ],
  [
    "a file, by renaming over it",
    (at) => {
      writeFileSync(join(at, "tmp"), "host");
      renameSync(join(at, "tmp"), join(at, "a"));
    },
    ["a"],
  ],
  ["a file that was removed", (at) => writeFileSync(join(at, "b"), "host"), ["b"]],
  ["a file in a directory", (at) => writeFileSync(join(at, "dir/x"), "host"), ["dir/x"]],
  ["a new file of the same name", (at) => writeFileSync(join(at, "made"), "host"), ["made"]],
  ["a directory, removed", (at) => rmSync(join(at, "dir"), { recursive: true }), ["dir", "dir/x"]],
  [
    "a directory, replaced by a link",
    (at) => {
      renameSync(join(at, "dir"), join(at, "away"));
      symlinkSync("away", join(at, "dir"));
    },
    ["dir", "dir/x"],
  ],
];

describeBackends("a conflict", (openTransaction, backend) => {
  const kScript = "echo mine > a; rm b; echo mine > dir/x; echo mine > made";
  async function conflictsOf(transaction: Transaction): Promise<string[]> {
    const changes = await transaction.changes();
    return changes.filter(({ conflict }) => conflict).map(({ path }) => path);
  }

  test.each(kHostEdits)("where the host changes %s", async (_, edit, conflicts) => {
    const workspace = workspaceWithAll();
    const { transaction } = await openTransaction(workspace);
    expect(await run(transaction, kScript)).toMatchObject({ exitCode: 0 });
    expect(await conflictsOf(transaction), "the control").toEqual([]);
    edit(workspace);
    expect(await conflictsOf(transaction)).toEqual(conflicts);
    await transaction.discard();
  });

  test("where the host removes what commands removed with its directory, and make anew", async () => {
    for (const isRemoved of [false, true]) {
      const workspace = workspaceWithAll();
      const { transaction } = await openTransaction(workspace);
      await run(transaction, "rm -r dir");
      await pastTick();
      if (isRemoved) rmSync(join(workspace, "dir", "x"));
      await pastTick();
      await run(transaction, "mkdir dir; echo mine > dir/x");
      expect(await conflictsOf(transaction)).toEqual(isRemoved ? ["dir/x"] : []);
      await transaction.discard();
    }
  });

  test("where it has told of it once, and the directory is made anew after that", async () => {
    for (const isRemoved of [false, true]) {
      const workspace = workspaceWithAll();
      const { transaction } = await openTransaction(workspace);
      await run(transaction, "rm -r dir; mkdir dir; echo mine > dir/x");
      await pastTick();
      if (isRemoved) rmSync(join(workspace, "dir", "sub", "z"));
      expect((await conflictsOf(transaction)).includes("dir/sub")).toBe(isRemoved);
      await run(transaction, "mkdir dir/sub; echo mine > dir/sub/z");
      expect(await conflictsOf(transaction)).toEqual(isRemoved ? ["dir/sub/z"] : []);
      await transaction.discard();
    }
  });

  test("is none where a commit of its own has changed what commands remove then", async () => {
    for (const isEdited of [false, true]) {
      const workspace = workspaceWithAll();
      const { transaction } = await openTransaction(workspace);
      await run(transaction, "rm -r dir; mkdir dir; echo mine > dir/x; echo mine > dir/made");
      await transaction.commit({ paths: ["dir/x", "dir/made"] });
      await pastTick();
      await run(transaction, "rm -r dir; mkdir dir; echo other > dir/new");
      await pastTick();
      if (isEdited) writeFileSync(join(workspace, "dir", "x"), "host");
      expect(await conflictsOf(transaction)).toEqual(isEdited ? ["dir/x"] : []);
      await transaction.discard();
    }
  });

  // What is not written in place, an overlay may show as it was; a copy shows nothing of it.
  test("is none where commands saw what the host did before the first", async () => {
    const workspace = workspaceWithAll();
    const { transaction } = await openTransaction(workspace);
    for (const name of ["a", "b", "dir/x"]) writeFileSync(join(workspace, name), "host");
    await new Promise((resolve) => setTimeout(resolve, 50)); // files' times are that coarse
    await run(transaction, kScript);
    expect(await conflictsOf(transaction)).toEqual(backend === "copy" ? ["a", "b", "dir/x"] : []);
    await transaction.discard();
  });
});
