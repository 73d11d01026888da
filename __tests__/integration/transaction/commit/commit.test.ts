/** `commit` brings a transaction's changes to the host, all or none; `undo` takes them back. */

import {
  chmodSync,
  existsSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";

import { TransactionError } from "../../support/package.js";
import { run } from "../../support/results.js";
import { describeBackends, differences, project, treeOf } from "../../support/transactions.js";
import { changedCopy, copyOf, kScripts, workspaceWithAll } from "../tree-scripts.js";

const isOther = ({ type }: { type: string }) => type === "other";

describeBackends("a commit", (openTransaction) => {
  test.each(kScripts)("of %s is the same as without a transaction", async (name, script) => {
    const workspace = workspaceWithAll();
    const before = copyOf(workspace);
    const expected = await changedCopy(workspace, script);
    const { transaction } = await openTransaction(workspace);
    await run(transaction, script);
    const changes = await transaction.changes();
    const report = await transaction.commit();
    expect(report.left, name).toEqual(changes.filter(isOther));
    expect(report.committed).toEqual(changes.filter((change) => !isOther(change)));
    expect(differences(workspace, expected).every(isOther)).toBe(true);
    expect((await transaction.changes()).every(isOther)).toBe(true);
    if (report.committed.length > 0) {
      await transaction.undo();
      expect(differences(before, workspace)).toEqual([]);
      expect(await transaction.changes()).toEqual(changes);
    }
    await transaction.discard();
  });

  test("ends what runs, and what was committed stays", async () => {
    const { transaction, workspace } = await openTransaction(project());
    const running = run(transaction, "echo made > made.txt; sleep 1000");
    await expect.poll(() => transaction.changes()).toHaveLength(1);
    await transaction.commit();
    expect(await running).toMatchObject({ kind: "aborted" });
    expect(readFileSync(join(workspace, "made.txt"), "utf8")).toBe("made\n");
    await transaction.discard();
    expect(existsSync(join(workspace, "made.txt"))).toBe(true);
  });

  test("on a conflict changes nothing, and commands may go on", async () => {
    const { transaction, workspace } = await openTransaction(project());
    await run(transaction, "echo mine > a.txt; echo mine > b.txt; rm gone.txt");
    await transaction.changes();
    writeFileSync(join(workspace, "b.txt"), "host\n");
    const before = treeOf(workspace);
    const failure = await transaction.commit().catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(TransactionError);
    expect(failure).toMatchObject({
      code: "ERR_TRANSACTION_CONFLICT",
      paths: ["b.txt"],
      conflicts: [{ path: "b.txt", kind: "modified", conflict: true }],
    });
    expect(treeOf(workspace)).toEqual(before);
    expect(await run(transaction, "cat b.txt")).toMatchObject({ out: "mine" });
    const { committed } = await transaction.commit({ paths: ["a.txt"] });
    expect(committed.map(({ path }) => path)).toEqual(["a.txt"]);
    expect(readFileSync(join(workspace, "a.txt"), "utf8")).toBe("mine\n");
    expect(readFileSync(join(workspace, "b.txt"), "utf8")).toBe("host\n");
    const left = (await transaction.changes()).map(({ path, conflict }) => [path, conflict]);
    expect(left).toEqual([
      ["b.txt", true],
      ["gone.txt", undefined],
    ]);
    await transaction.discard();
  });

  test.each([
    ["git's hooks", "mkdir -p .git/hooks; echo x > .git/hooks/pre-commit", ".git/hooks/pre-commit"],
    [
      "git's configuration, deeper",
      "mkdir -p sub/.git; echo x > sub/.git/config",
      "sub/.git/config",
    ],
    ["a link in git's place", "ln -s /tmp .git", ".git"],
    ["what direnv runs", "echo x > .envrc", ".envrc"],
    ["in other letters", "echo x > .EnvRC", ".EnvRC"],
  ])("refuses %s unless it is named", async (_, script, path) => {
    const { transaction, workspace } = await openTransaction(project());
    const before = treeOf(workspace);
    await run(transaction, `${script}; echo mine > a.txt`);
    const refused = expect(transaction.commit()).rejects;
    await refused.toMatchObject({ code: "ERR_TRANSACTION_PROTECTED" });
    expect(treeOf(workspace)).toEqual(before);
    const { committed } = await transaction.commit({
      allowProtected: [path.replace(/\/[^/]*$/, "")],
    });
    expect(committed.map((change) => change.path)).toContain(path);
    await transaction.discard();
  });

  test("refuses what is no option, and paths elsewhere", async () => {
    const { transaction } = await openTransaction(project());
    const code = "ERR_INVALID_ARG_VALUE";
    await expect(transaction.commit({ path: ["a"] } as never)).rejects.toMatchObject({ code });
    await expect(transaction.commit({ paths: ["../a"] })).rejects.toMatchObject({ code });
    await expect(transaction.commit({ allowProtected: ["/a"] })).rejects.toMatchObject({ code });
    await expect(transaction.undo()).rejects.toMatchObject({ code: "ERR_SANDBOX_SETUP" });
    await transaction.discard();
  });

  test("keeps the file that was there, whatever leads to it", async () => {
    const { transaction, workspace } = await openTransaction(project());
    const before = statSync(join(workspace, "a.txt"));
    await run(transaction, "echo mine > a.txt");
    await transaction.commit();
    expect(statSync(join(workspace, "a.txt")).ino).not.toBe(before.ino);
    await transaction.undo();
    expect(statSync(join(workspace, "a.txt")).ino).toBe(before.ino);
    await transaction.discard();
  });
});

describeBackends("an undo", (openTransaction) => {
  test("is refused where the host has changed what was committed", async () => {
    const { transaction, workspace } = await openTransaction(project());
    await run(transaction, "echo mine > a.txt; echo mine > b.txt");
    await transaction.commit();
    await new Promise((resolve) => setTimeout(resolve, 50)); // files' times are that coarse
    chmodSync(join(workspace, "b.txt"), 0o600);
    const before = treeOf(workspace);
    const refused = expect(transaction.undo()).rejects;
    await refused.toMatchObject({ code: "ERR_TRANSACTION_CONFLICT", paths: ["b.txt"] });
    expect(treeOf(workspace)).toEqual(before);
    await transaction.discard();
  });

  test("leaves what was made a change, though commands saw it as the host's", async () => {
    const { transaction, runner, state, workspace } = await openTransaction(project());
    const before = treeOf(workspace);
    await run(transaction, "mkdir -p new/sub; echo n > new/sub/n");
    const changes = await transaction.changes();
    await transaction.commit();
    await transaction.close();
    const second = await runner.resumeTransaction(transaction.id, { directory: state });
    expect(await run(second, "cat new/sub/n; ls -R new")).toMatchObject({ exitCode: 0 });
    await second.undo();
    expect(treeOf(workspace)).toEqual(before);
    expect(await second.changes()).toEqual(changes);
    await second.commit();
    expect(readFileSync(join(workspace, "new/sub/n"), "utf8")).toBe("n\n");
    await second.discard();
  });
});

describeBackends("a transaction that is resumed", (openTransaction) => {
  test("goes on where it was, and can be undone", async () => {
    const { transaction, runner, state, workspace } = await openTransaction(project());
    const before = treeOf(workspace);
    await run(transaction, "echo mine > a.txt; echo two > made");
    const changes = await transaction.changes();
    await transaction.close();
    const options = { directory: state };
    const second = await runner.resumeTransaction(transaction.id, options);
    expect(second.recovered).toBe(undefined);
    expect(await second.changes()).toEqual(changes);
    expect(await run(second, "cat a.txt made")).toMatchObject({ out: "mine\ntwo" });
    const open = expect(runner.resumeTransaction(transaction.id, options)).rejects;
    await open.toMatchObject({ code: "ERR_SANDBOX_SETUP" });
    await second.commit();
    await second.close();
    expect(readFileSync(join(workspace, "made"), "utf8")).toBe("two\n");
    const third = await runner.resumeTransaction(transaction.id, options);
    expect(await third.changes()).toEqual([]);
    expect(await run(third, "echo more >> made; cat made")).toMatchObject({ out: "two\nmore" });
    await third.discard();
    expect(treeOf(workspace)).not.toEqual(before);
  });

  test("still tells what the host has changed while it was closed", async () => {
    const { transaction, runner, state, workspace } = await openTransaction(project());
    await run(transaction, "echo mine > a.txt; rm b.txt; echo mine > made");
    await transaction.changes();
    await transaction.close();
    renameSync(join(workspace, "run.sh"), join(workspace, "a.txt"));
    writeFileSync(join(workspace, "made"), "host");
    const second = await runner.resumeTransaction(transaction.id, { directory: state });
    const conflicts = (await second.changes()).filter(({ conflict }) => conflict);
    expect(conflicts.map(({ path }) => path)).toEqual(["a.txt", "made"]);
    await second.discard();
  });

  test("is refused where there is none", async () => {
    const { transaction, runner, state } = await openTransaction(project());
    for (const id of ["", "000000000000", "../x", transaction.id.slice(1)]) {
      const refused = expect(runner.resumeTransaction(id, { directory: state }), id).rejects;
      await refused.toMatchObject({ code: "ERR_INVALID_ARG_VALUE" });
    }
    await transaction.discard();
  });
});

describeBackends("what the host changes", (openTransaction) => {
  const first = "sed -i s/one/1/ a.txt";
  test.each([
    ["between two edits", (at: string) => writeFileSync(join(at, "a.txt"), "host\n")],
    ["by removing it", (at: string) => rmSync(join(at, "a.txt"))],
  ])("is a conflict %s of the same file", async (_, edit) => {
    const { transaction, workspace } = await openTransaction(project());
    await run(transaction, first);
    expect((await transaction.changes())[0]?.conflict, "the control").toBe(undefined);
    edit(workspace);
    await run(transaction, "sed -i s/1/one/ a.txt; sed -i s/one/2/ a.txt; touch other");
    const [change] = await transaction.changes();
    expect(change).toMatchObject({ path: "a.txt", conflict: true });
    await expect(transaction.commit()).rejects.toMatchObject({ code: "ERR_TRANSACTION_CONFLICT" });
    await transaction.discard();
  });

  test.each([
    ["writes to", (at: string) => writeFileSync(join(at, "dir/old"), "host's")],
    ["makes", (at: string) => writeFileSync(join(at, "dir/theirs"), "host's")],
  ])(
    "is a conflict where it %s what a new directory hides, also after a commit of other paths",
    async (_, edit) => {
      const workspace = project();
      mkdirSync(join(workspace, "dir"));
      writeFileSync(join(workspace, "dir/old"), "old");
      writeFileSync(join(workspace, "dir/quiet"), "quiet");
      const { transaction } = await openTransaction(workspace);
      await run(transaction, "rm -r dir; mkdir dir; echo new > dir/new; echo one > one");
      await transaction.changes();
      edit(workspace);
      const conflicts = async () =>
        (await transaction.changes()).filter(({ conflict }) => conflict).map(({ path }) => path);
      const before = await conflicts();
      await transaction.commit({ paths: ["one"] });
      expect(await conflicts()).toEqual(before);
      await run(transaction, "echo two > two");
      expect(await conflicts()).toEqual(before);
      await transaction.commit({ paths: ["dir/quiet", "two"] }); // the control
      await transaction.commit().catch(() => {});
      const theirs = before[0] ?? "dir/theirs";
      expect(readFileSync(join(workspace, theirs), "utf8")).toBe("host's");
      await transaction.discard();
    },
  );

  test("is none where an earlier commit has removed a part of the same directory", async () => {
    const workspace = project();
    mkdirSync(join(workspace, "dir/deep"), { recursive: true });
    for (const name of ["dir/deep/one", "dir/two"]) writeFileSync(join(workspace, name), name);
    const { transaction } = await openTransaction(workspace);
    await run(transaction, "rm -r dir; echo file > dir");
    for (const path of ["dir/deep/one", "dir/deep", "dir/two", "dir"]) {
      await transaction.commit({ paths: [path] });
      await run(transaction, "true");
    }
    expect(await transaction.changes()).toEqual([]);
    expect(readFileSync(join(workspace, "dir"), "utf8")).toBe("file\n");
    await transaction.discard();
  });

  test("is none where only a directory's other files changed", async () => {
    const workspace = project();
    mkdirSync(join(workspace, "dir"));
    writeFileSync(join(workspace, "dir/one"), "host");
    const { transaction } = await openTransaction(workspace);
    await run(transaction, "echo mine > dir/one");
    await transaction.changes();
    writeFileSync(join(workspace, "dir/two"), "host");
    expect(await transaction.changes()).toMatchObject([{ path: "dir/one" }]);
    expect((await transaction.changes())[0]?.conflict).toBe(undefined);
    await transaction.commit();
    expect(readFileSync(join(workspace, "dir/two"), "utf8")).toBe("host");
    await transaction.discard();
  });
});
