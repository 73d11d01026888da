// As root too: whiteouts, owners and modes differ for root.
/** An undo is refused where the host has changed what was written, and by nothing that commands do later. */

import { chmodSync, lstatSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";

import { BubblewrapNativeRunner } from "../../support/package.js";
import { run } from "../../support/results.js";
import {
  describeBackends,
  type Opened,
  pastTick,
  project,
  treeOf,
} from "../../support/transactions.js";

/** What was committed, and what commands do to it later. */
const kCases: [string, string, string][] = [
  ["a file is written again", "echo mine > a.txt", "echo more >> a.txt"],
  ["a file is removed", "echo mine > a.txt", "rm a.txt"],
  ["a file gets another mode", "echo mine > a.txt", "chmod 700 a.txt"],
  ["a file gets other times", "echo mine > a.txt", "touch -d @1000 a.txt"],
  ["a file is renamed", "echo mine > a.txt", "mv a.txt other"],
  ["a file becomes a directory", "echo mine > a.txt", "rm a.txt; mkdir a.txt; echo x > a.txt/x"],
  ["a file becomes a link", "echo mine > a.txt", "ln -sf b.txt a.txt"],
  ["a new file is written again", "echo new > new", "echo more >> new"],
  ["a new file is removed", "echo new > new", "rm new"],
  ["a new link is another", "ln -s a.txt new", "ln -sfn b.txt new"],
  ["a removed file is made anew", "rm a.txt", "echo anew > a.txt"],
  ["a removed file becomes a directory", "rm a.txt", "mkdir a.txt; echo x > a.txt/x"],
  ["a new directory has more in it", "mkdir d; echo x > d/x", "echo y > d/y; echo more >> d/x"],
  ["a new directory is removed", "mkdir -p d/e; echo x > d/e/x", "rm -r d"],
  ["a new directory is made anew", "mkdir d; echo x > d/x", "rm -r d; mkdir d; echo y > d/y"],
  ["a new directory becomes a file", "mkdir d; echo x > d/x", "rm -r d; echo x > d"],
  ["a directory gets another mode", "chmod 700 dir", "chmod 750 dir; echo x > dir/more"],
  ["a directory is removed", "echo mine > dir/x", "rm -r dir"],
  [
    "a directory is made anew",
    "echo mine > dir/x; rm dir/y",
    "rm -r dir; mkdir dir; echo z > dir/z",
  ],
  ["a removed directory is made anew", "rm -r dir", "mkdir dir; echo z > dir/z; echo x > dir/x"],
  ["a removed directory becomes a file", "rm -r dir", "echo x > dir"],
  [
    "a directory that was a file is one again",
    "rm a.txt; mkdir a.txt; echo x > a.txt/x",
    "rm -r a.txt; echo x > a.txt",
  ],
  [
    "a file that was a directory is one again",
    "rm -r dir; echo x > dir",
    "rm dir; mkdir dir; echo x > dir/x",
  ],
  ["a directory is shut", "echo mine > dir/x", "echo more >> dir/x; chmod 000 dir"],
  [
    "everything is done at once",
    "echo mine > a.txt; rm gone.txt; echo new > new; rm -r dir; mkdir d; echo x > d/x",
    "rm -r ./*; mkdir a.txt gone.txt new dir d; echo z > dir/z",
  ],
];

const kView =
  "chmod 755 dir 2>/dev/null; find . -printf '%P %y %m %l\\n' | sort; find . -type f | sort | xargs -r cat";

function projectWithTree(): string {
  const workspace = project();
  mkdirSync(join(workspace, "dir"));
  writeFileSync(join(workspace, "dir/x"), "x\n");
  writeFileSync(join(workspace, "dir/y"), "y\n");
  return workspace;
}

async function resumed({ transaction, workspace, state }: Opened) {
  await transaction.close();
  const runner = new BubblewrapNativeRunner({ shadowDir: workspace, prewarm: 0 });
  return runner.resumeTransaction(transaction.id, { directory: state });
}

describeBackends("an undo after a command", (openTransaction) => {
  test.each(kCases)("where %s", async (_, make, later) => {
    const { transaction, workspace } = await openTransaction(projectWithTree());
    const before = treeOf(workspace);
    const inode = lstatSync(join(workspace, "a.txt")).ino;
    expect(await run(transaction, make)).toMatchObject({ exitCode: 0 });
    await transaction.commit();
    expect(treeOf(workspace)).not.toEqual(before);
    expect(await run(transaction, later)).toMatchObject({ exitCode: 0 });
    if (!later.includes("chmod 000")) await transaction.changes();
    const view = (await run(transaction, kView)).out;
    await transaction.undo();
    expect(treeOf(workspace)).toEqual(before);
    expect(lstatSync(join(workspace, "a.txt")).ino).toBe(inode);
    expect((await run(transaction, kView)).out).toBe(view); // commands see what they saw
    const changes = await transaction.changes();
    expect(changes.filter(({ conflict }) => conflict)).toEqual([]);
    await transaction.commit();
    expect(await transaction.changes()).toEqual([]);
    expect((await run(transaction, kView)).out).toBe(view);
    if (changes.length > 0) await transaction.undo();
    expect(treeOf(workspace)).toEqual(before);
    await transaction.discard();
  });

  test.each(kCases)("that another process has run: %s", async (_, make, later) => {
    const opened = await openTransaction(projectWithTree());
    const before = treeOf(opened.workspace);
    await run(opened.transaction, make);
    await opened.transaction.commit();
    await run(opened.transaction, later);
    const second = await resumed(opened);
    await second.undo();
    expect(treeOf(opened.workspace)).toEqual(before);
    await second.discard();
  });

  test("is refused where the host has changed what was written", async () => {
    const { transaction, workspace } = await openTransaction(projectWithTree());
    await run(transaction, "echo mine > a.txt; echo mine > b.txt; echo new > new");
    await transaction.commit();
    await run(transaction, "echo more >> a.txt; echo more >> b.txt; rm new");
    await pastTick();
    chmodSync(join(workspace, "b.txt"), 0o600);
    writeFileSync(join(workspace, "new"), "host\n");
    const after = treeOf(workspace);
    const refused = expect(transaction.undo()).rejects;
    await refused.toMatchObject({ code: "ERR_TRANSACTION_CONFLICT", paths: ["b.txt", "new"] });
    expect(treeOf(workspace)).toEqual(after);
    expect(readFileSync(join(workspace, "new"), "utf8")).toBe("host\n");
    await transaction.discard();
  });

  test("leaves no sign of a removed file that the host makes later", async () => {
    const { transaction, workspace } = await openTransaction(projectWithTree());
    await run(transaction, "echo new > new; mkdir d; echo x > d/x");
    await transaction.commit();
    await run(transaction, "rm -r new d");
    await transaction.undo();
    expect(await transaction.changes()).toEqual([]);
    writeFileSync(join(workspace, "new"), "host\n");
    expect(await transaction.changes()).toEqual([]);
    await transaction.discard();
  });
});
