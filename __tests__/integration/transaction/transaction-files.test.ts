/** A transaction's `files` are those that its commands see. */

import { readFileSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";

import { run } from "../support/results.js";
import { describeBackends, project, treeOf } from "../support/transactions.js";

describeBackends("the files of a transaction", (openTransaction) => {
  test("are what its commands have made of them, and the host's are not", async () => {
    const { transaction, runner } = await openTransaction(project());
    await run(transaction, "echo mine > a.txt; rm b.txt; mkdir -p sub/deep; echo x > sub/deep/x");
    expect(await transaction.files.readText("a.txt")).toBe("mine\n");
    expect(await runner.files.readText("a.txt"), "the control").toBe("one\n");
    await expect(transaction.files.read("b.txt")).rejects.toMatchObject({ code: "ENOENT" });
    expect((await runner.files.read("b.txt")).length).toBe(4);
    const paths = (await transaction.files.list(".", { recursive: true })).map(({ path }) => path);
    expect(paths.sort()).toEqual(["a.txt", "gone.txt", "run.sh", "sub", "sub/deep", "sub/deep/x"]);
    await transaction.discard();
  });

  test("are changes when they are written", async () => {
    const { transaction, workspace } = await openTransaction(project());
    const before = treeOf(workspace);
    const { files } = transaction;
    await files.write("a.txt", "tool\n");
    await files.mkdir("sub/deep", { recursive: true });
    await files.write("sub/deep/new", "tool\n");
    await files.rename("b.txt", "sub/b.txt");
    await files.remove("gone.txt");
    const stat = await files.stat("run.sh");
    await files.write("run.sh", "#!/bin/sh\necho tool\n", { ifUnchanged: stat.version });
    const stale = files.write("run.sh", "no", { ifUnchanged: stat.version });
    await expect(stale).rejects.toMatchObject({ code: "ERR_FILE_CHANGED" });
    expect(treeOf(workspace)).toEqual(before);
    expect(await run(transaction, "cat a.txt sub/b.txt; sh run.sh; ls")).toMatchObject({
      out: "tool\ntwo\ntool\na.txt\nrun.sh\nsub",
    });
    const changes = (await transaction.changes()).map(({ kind, path }) => `${kind} ${path}`);
    expect(changes).toEqual([
      "modified a.txt",
      "deleted gone.txt",
      "modified run.sh",
      "added sub",
      "renamed sub/b.txt",
      "added sub/deep",
      "added sub/deep/new",
    ]);
    await transaction.commit();
    expect(readFileSync(join(workspace, "a.txt"), "utf8")).toBe("tool\n");
    await transaction.discard();
  });

  test("lead nowhere else, and are gone with it", async () => {
    const workspace = project();
    symlinkSync("/etc", join(workspace, "out"));
    const { transaction } = await openTransaction(workspace);
    await run(transaction, "ln -s /etc planted");
    for (const link of ["out", "planted"]) {
      const refused = expect(transaction.files.read(`${link}/passwd`), link).rejects;
      await refused.toMatchObject({ code: "ELOOP" });
    }
    expect((await transaction.files.readText("a.txt")).length).toBeGreaterThan(0);
    await transaction.discard();
    const code = "ERR_SANDBOX_CLOSED";
    await expect(transaction.files.read("a.txt")).rejects.toMatchObject({ code });
  });

  test("are no more writable than for its commands", async () => {
    const { transaction } = await openTransaction(project(), { allowWriteWorkspace: false });
    await expect(transaction.files.write("a.txt", "x")).rejects.toMatchObject({ code: "EROFS" });
    expect(await transaction.files.readText("a.txt")).toBe("one\n");
    await transaction.discard();
  });
});
