// As root too: only root can give a directory to another user.
/** A change that nobody has seen is not committed, of whatever type it is. */

import { chmodSync, chownSync, mkdirSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";

import { isRoot, testUnless } from "../../support/requirements.js";
import { run } from "../../support/results.js";
import { describeBackends, project, treeOf } from "../../support/transactions.js";

const failureOf = (promise: Promise<unknown>) => promise.catch((error: unknown) => error);

/** With important files, a directory, an empty one, and a shut one. */
function important(): string {
  const workspace = project();
  for (const name of ["dir", "empty", "tree", "tree/sub"]) mkdirSync(join(workspace, name));
  for (const name of ["important.txt", "dir/one", "dir/two", "tree/sub/deep"])
    writeFileSync(join(workspace, name), `${name}\n`);
  chmodSync(join(workspace, "dir"), 0o755);
  return workspace;
}

/** What a command does after somebody has looked, and the paths that nobody has seen so. */
const kUnseen: [string, string, string[]][] = [
  ["a directory in a file's place", "rm important.txt; mkdir important.txt", ["important.txt"]],
  [
    "a directory with files in a file's place",
    "rm important.txt; mkdir -p important.txt/x; echo x > important.txt/x/y",
    ["important.txt", "important.txt/x", "important.txt/x/y"],
  ],
  ["a link in a file's place", "ln -sf a.txt important.txt", ["important.txt"]],
  ["a file in a directory's place", "rm -r dir; echo x > dir", ["dir", "dir/one", "dir/two"]],
  ["a link in a directory's place", "rm -r dir; ln -s tree dir", ["dir", "dir/one", "dir/two"]],
  ["a link in an empty directory's place", "rmdir empty; ln -s tree empty", ["empty"]],
  ["a file that is removed", "rm important.txt", ["important.txt"]],
  ["a directory that is removed", "rm -r dir", ["dir", "dir/one", "dir/two"]],
  ["an empty directory that is removed", "rmdir empty", ["empty"]],
  ["a directory that is made anew", "rm -r dir; mkdir dir", ["dir/one", "dir/two"]],
  ["a directory that is made anew, deeper", "rm -r tree; mkdir -p tree/sub", ["tree/sub/deep"]],
  [
    "a directory that is renamed",
    "mv tree moved",
    ["moved", "moved/sub", "moved/sub/deep", "tree", "tree/sub", "tree/sub/deep"],
  ],
  ["a new directory", "mkdir new", ["new"]],
  ["a new directory beside what was seen", "mkdir made/new", ["made/new"]],
  ["a directory's mode", "chmod 700 dir", ["dir"]],
  ["the workspace's mode", "chmod 711 .", ["."]],
  ["a new link", "ln -s / link", ["link"]],
  ["a file of two names", "ln important.txt second", ["second"]],
];

describeBackends("a commit of what was seen", (openTransaction, backend) => {
  test.each(kUnseen)("makes no other change: %s", async (_, script, unseen) => {
    const { transaction, workspace } = await openTransaction(important());
    await run(transaction, "echo mine > a.txt; mkdir made; echo in > made/in.txt");
    const expected = await transaction.changes({ details: true });
    expect(await run(transaction, script)).toMatchObject({ exitCode: 0 });
    const before = treeOf(workspace);
    const failure = await failureOf(transaction.commit({ expected }));
    expect(failure).toMatchObject({ code: "ERR_TRANSACTION_UNEXPECTED", paths: unseen });
    expect(treeOf(workspace)).toEqual(before);
    // By paths that name it too.
    const again = await failureOf(transaction.commit({ paths: [...unseen, "a.txt"], expected }));
    expect(again).toMatchObject({ code: "ERR_TRANSACTION_UNEXPECTED" });
    expect(treeOf(workspace)).toEqual(before);
    // What was seen goes by itself, and all of it once it was seen.
    await transaction.commit({
      paths: ["a.txt", "made/in.txt"],
      expected: expected.filter(({ path }) => path !== "made"),
    });
    expect(treeOf(workspace)).not.toEqual(before);
    await transaction.commit({ expected: await transaction.changes({ details: true }) });
    expect(await transaction.changes()).toEqual([]);
    await transaction.discard();
  });

  test("leaves the host's file where a FIFO takes its place, and what is in it", async () => {
    const { transaction, workspace } = await openTransaction(important());
    await run(transaction, "echo mine > a.txt");
    const expected = await transaction.changes({ details: true });
    await run(transaction, "rm important.txt; mkfifo important.txt");
    await transaction.commit({ expected });
    expect(statSync(join(workspace, "important.txt")).isFile()).toBe(true);
    expect(statSync(join(workspace, "a.txt")).size).toBe(5);
    await transaction.discard();
  });

  test("makes no file's place a directory for a file in it that was seen", async () => {
    const { transaction, workspace } = await openTransaction(important());
    await run(transaction, "rm important.txt; mkdir important.txt; echo in > important.txt/in");
    const seen = await transaction.changes({ details: true });
    const before = treeOf(workspace);
    const expected = seen.filter(({ path }) => path === "important.txt/in");
    const failure = await failureOf(transaction.commit({ paths: ["important.txt/in"], expected }));
    expect(failure).toMatchObject({
      code: "ERR_TRANSACTION_UNEXPECTED",
      paths: ["important.txt"],
    });
    expect(treeOf(workspace)).toEqual(before);
    await transaction.commit({ paths: ["important.txt/in"], expected: seen });
    expect(statSync(join(workspace, "important.txt/in")).isFile()).toBe(true);
    await transaction.discard();
  });

  testUnless(
    isRoot ? undefined : "only root can give files to others",
    "gives no directory to a user whom nobody has seen",
    async () => {
      const { transaction, workspace, state } = await openTransaction(important());
      await run(transaction, "chmod 700 dir; mkdir made");
      const expected = await transaction.changes({ details: true });
      const before = treeOf(workspace);
      for (const path of ["dir", "made"]) {
        const mine = join(state, transaction.id, backend === "copy" ? "tree" : "upper", path);
        chownSync(mine, 1234, 1234); // no sandbox lets a command do that
        const failure = await failureOf(transaction.commit({ expected }));
        expect(failure).toMatchObject({ code: "ERR_TRANSACTION_UNEXPECTED", paths: [path] });
        expect(treeOf(workspace)).toEqual(before);
        chownSync(mine, 0, 0);
      }
      await transaction.commit({ expected });
      expect(statSync(join(workspace, "dir")).mode & 0o777).toBe(0o700);
      await transaction.discard();
    },
  );
});
