// As root too: owners, modes and mounts differ for root.
/** A copy of the workspace: all of it, nothing of the host's, and no more than is allowed. */

import { spawnSync } from "node:child_process";
import {
  chmodSync,
  existsSync,
  linkSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";

import { kQuietMs } from "../../support/waits.js";
import { BubblewrapNativeRunner, type TransactionOptions } from "../support/package.js";
import { describeSandboxed, isRoot, testUnless } from "../support/requirements.js";
import { run } from "../support/results.js";
import { tempDirectory } from "../support/temp.js";
import { openTransaction, project, stateDirectory, treeOf } from "../support/transactions.js";
import { toldUnderMounts } from "./own-mounts.js";
import { workspaceWithAll } from "./tree-scripts.js";

const openCopy = (workspace: string) => openTransaction(workspace, {}, "copy");

const kTried = (options: TransactionOptions, shadowDir: string) =>
  new BubblewrapNativeRunner({ shadowDir, prewarm: 0 })
    .openTransaction({ backend: "copy", ...options })
    .catch((error: unknown) => error as Error & { code: string });

describeSandboxed("a copy", () => {
  test("has no inode of the host's, and writing in it leaves the host's alone", async () => {
    const workspace = project();
    linkSync(join(workspace, "a.txt"), join(workspace, "hard"));
    const outside = join(tempDirectory(), "outside");
    linkSync(join(workspace, "b.txt"), outside);
    const before = treeOf(workspace);
    const { transaction, state } = await openCopy(workspace);
    const tree = join(state, transaction.id, "tree");
    for (const name of readdirSync(workspace)) {
      expect(statSync(join(tree, name)).ino, name).not.toBe(statSync(join(workspace, name)).ino);
    }
    const inode = (name: string) => statSync(join(tree, name)).ino;
    expect(inode("hard"), "links among the files are kept").toBe(inode("a.txt"));
    expect(statSync(join(tree, "b.txt")).nlink).toBe(1);
    await run(transaction, "for i in *; do echo written >> $i; done");
    expect(await run(transaction, "tail -1 hard; stat -c %h hard b.txt")).toMatchObject({
      out: "written\n2\n1",
    });
    expect(treeOf(workspace)).toEqual(before);
    expect(readFileSync(outside, "utf8")).toBe("two\n");
    await transaction.discard();
  });

  test("is as the host's files are", async () => {
    const workspace = workspaceWithAll();
    chmodSync(join(workspace, "a"), 0o755);
    chmodSync(join(workspace, "dir/x"), 0o600);
    chmodSync(join(workspace, "dir/sub"), 0o500);
    utimesSync(join(workspace, "b"), 1000, 1000);
    spawnSync("mkfifo", [join(workspace, "pipe")]);
    symlinkSync("/etc/passwd", join(workspace, "out"));
    writeFileSync(join(workspace, "sparse"), "");
    truncateSync(join(workspace, "sparse"), 64 << 20);
    const note = ["-n", "user.note", "-v", "kept", join(workspace, "c")];
    const hasNote = spawnSync("setfattr", note).status === 0;
    const { transaction, runner } = await openCopy(workspace);
    const look = "find . -printf '%p %y %m %U:%G %s %T@ %l\\n' | sort; cat a b dir/x";
    const { out } = await run(runner, look);
    expect(out).toContain("./sparse f");
    expect(await run(transaction, look)).toMatchObject({ out });
    expect(await run(transaction, "stat -c %b sparse")).toMatchObject({ out: "0" });
    if (hasNote) {
      const read = await transaction.exec({
        argv: ["/usr/bin/getfattr", "-n", "user.note", "--only-values", "c"],
      });
      if (read.exitCode === 0) expect(read.stdoutText).toBe("kept");
    }
    expect(await transaction.changes()).toEqual([]);
    await transaction.discard();
    chmodSync(join(workspace, "dir/sub"), 0o700); // so that it can be removed
  });

  test("does not show what the host changes later, which is told when it matters", async () => {
    const { transaction, workspace } = await openCopy(project());
    writeFileSync(join(workspace, "a.txt"), "host\n");
    writeFileSync(join(workspace, "new.txt"), "host\n");
    expect(await run(transaction, "cat a.txt; ls")).toMatchObject({
      out: "one\na.txt\nb.txt\ngone.txt\nrun.sh",
    });
    expect(await transaction.changes(), "it is no change of the transaction's").toEqual([]);
    await run(transaction, "echo mine > b.txt");
    await transaction.commit();
    expect(readFileSync(join(workspace, "a.txt"), "utf8")).toBe("host\n");
    await run(transaction, "true").catch(() => {});
    await transaction.discard();
  });

  test("tells what was changed without reading it: no time can hide it", async () => {
    const { transaction } = await openCopy(project());
    const forged = 't=$(stat -c %y a.txt); printf "ONE\\n" > a.txt; touch -d "$t" a.txt';
    await run(transaction, forged);
    expect(await transaction.changes()).toMatchObject([
      { path: "a.txt", size: 4, previousSize: 4 },
    ]);
    await transaction.discard();
  });

  test("is taken up by another process as it was left, and so is its undo", async () => {
    const { transaction, runner, state, workspace } = await openCopy(project());
    const before = treeOf(workspace);
    await run(transaction, "echo mine > a.txt; rm b.txt; mkdir n; echo n > n/n");
    const changes = await transaction.changes();
    await transaction.commit();
    await transaction.close();
    const second = await runner.resumeTransaction(transaction.id, { directory: state });
    expect(second).toMatchObject({ backend: "copy", backendReason: undefined });
    expect(await second.changes()).toEqual([]);
    expect(await run(second, "cat a.txt n/n; ls")).toMatchObject({
      out: "mine\nn\na.txt\ngone.txt\nn\nrun.sh",
    });
    await second.undo();
    expect(treeOf(workspace)).toEqual(before);
    expect(await second.changes()).toEqual(changes);
    await second.close();
    const options = { directory: state, backend: "overlay" } as const;
    const wrong = runner.resumeTransaction(transaction.id, options);
    await expect(wrong).rejects.toMatchObject({ code: "ERR_INVALID_ARG_VALUE", name: "TypeError" });
    const third = await runner.resumeTransaction(transaction.id, { ...options, backend: "copy" });
    await third.commit();
    expect(readFileSync(join(workspace, "a.txt"), "utf8")).toBe("mine\n");
    await third.discard();
    expect(readdirSync(state)).toEqual([]);
  });

  test("goes on after a commit, whatever directories were touched", async () => {
    const { transaction, runner, state, workspace } = await openCopy(workspaceWithAll());
    await run(transaction, "echo mine > dir/x; echo new > dir/new");
    await transaction.commit();
    await transaction.close();
    const second = await runner.resumeTransaction(transaction.id, { directory: state });
    await run(second, "rm -r dir");
    const changes = await second.changes();
    expect(changes.filter(({ conflict }) => conflict)).toEqual([]);
    expect(changes.map(({ path }) => path)).toContain("dir/new");
    writeFileSync(join(workspace, "dir/host"), "host");
    const conflicts = (await second.changes()).filter(({ conflict }) => conflict);
    expect(conflicts.map(({ path }) => path)).toContain("dir/host");
    await expect(second.commit()).rejects.toMatchObject({ code: "ERR_TRANSACTION_CONFLICT" });
    expect(readFileSync(join(workspace, "dir/host"), "utf8")).toBe("host");
    await second.discard();
  });
});

describeSandboxed("the limits of a copy", () => {
  test("maxBytes is what it may have at most", async () => {
    const directory = stateDirectory();
    const workspace = tempDirectory();
    for (let i = 0; i < 10; i += 1) writeFileSync(join(workspace, `${i}`), "x".repeat(1000));
    const failure = await kTried({ directory, maxBytes: 9_999 }, workspace);
    expect(failure).toMatchObject({ code: "ERR_SANDBOX_UNAVAILABLE" });
    expect((failure as Error).message).toMatch(/more than 9999 bytes \(maxBytes\).* 10000/);
    expect(readdirSync(directory)).toEqual([]);
    truncateSync(join(workspace, "0"), 1 << 30); // a hole is nothing
    const opened = await kTried({ directory, maxBytes: 1 << 20 }, workspace);
    expect(opened).toMatchObject({ backend: "copy" });
    for (const maxBytes of [-1, 1.5, Number.NaN, 2 ** 60]) {
      expect(await kTried({ directory, maxBytes }, workspace)).toBeInstanceOf(RangeError);
    }
  });

  test("onProgress is told how far it is, at the end all of it", async () => {
    const directory = stateDirectory();
    const workspace = tempDirectory();
    for (let i = 0; i < 500; i += 1) writeFileSync(join(workspace, `${i}`), "x".repeat(100));
    const reported: { files: number; bytes: number }[] = [];
    const onProgress = (progress: { files: number; bytes: number }) => reported.push(progress);
    const opened = await kTried({ directory, onProgress }, workspace);
    expect(reported.at(-1)).toEqual({ files: 500, bytes: 50_000 });
    for (let i = 1; i < reported.length; i += 1) {
      expect(reported[i]?.files).toBeGreaterThanOrEqual(reported[i - 1]?.files ?? 0);
    }
    const count = reported.length;
    await new Promise((resolve) => setTimeout(resolve, kQuietMs));
    expect(reported, "nothing comes later").toHaveLength(count);
    expect(opened).toMatchObject({ backend: "copy" });
  });

  test("what onProgress throws ends it", async () => {
    const directory = stateDirectory();
    const thrown = new Error("mine");
    const onProgress = () => {
      throw thrown;
    };
    expect(await kTried({ directory, onProgress }, project())).toBe(thrown);
    expect(readdirSync(directory)).toEqual([]);
  });

  test("a signal ends it, before it begins and while it is made", async () => {
    const directory = stateDirectory();
    const reason = new Error("enough");
    const early = await kTried({ directory, signal: AbortSignal.abort(reason) }, project());
    expect(early).toBe(reason);
    const workspace = tempDirectory();
    for (let i = 0; i < 3000; i += 1) writeFileSync(join(workspace, `${i}`), "x");
    const controller = new AbortController();
    const making = kTried({ directory, signal: controller.signal }, workspace);
    setTimeout(() => controller.abort(reason), 20);
    expect(await making).toBe(reason);
    expect(readdirSync(directory)).toEqual([]);
  });

  test.each([
    ["maxBytes", { maxBytes: "1" }],
    ["onProgress", { onProgress: 1 }],
    ["signal", { signal: {} }],
  ])("%s of another type is refused", async (field, options) => {
    const failure = await kTried(
      { directory: stateDirectory(), ...options } as unknown as TransactionOptions,
      project(),
    );
    expect(failure).toBeInstanceOf(TypeError);
    expect((failure as Error).message).toContain(`\`${field}\``);
  });

  test("no space left leaves nothing", () => {
    const workspace = project();
    writeFileSync(join(workspace, "large"), "x".repeat(4 << 20));
    const state = tempDirectory();
    const script = (size: string) =>
      toldUnderMounts<{ failure?: { code: string; message: string }; left: string[] }>(
        `mount -t tmpfs -o mode=0700,size=${size} none ${state}`,
        `
        const runner = new BubblewrapNativeRunner({ shadowDir: ${JSON.stringify(workspace)} });
        const opening = runner.openTransaction({ directory: ${JSON.stringify(state)}, backend: "copy" });
        const failed = await failure(opening.then((made) => made.discard()));
        tell({ failure: failed, left: fs.readdirSync(${JSON.stringify(state)}) });`,
      );
    const reported = script("1m");
    expect(reported.failure).toMatchObject({ code: "ERR_SANDBOX_SETUP" });
    expect(reported.failure?.message).toContain("large can't be copied");
    expect(reported.left).toEqual([]);
    expect(script("16m"), "the control").toEqual({ left: [] });
  });

  testUnless(isRoot ? "root may read all" : undefined, "what can't be read is named", async () => {
    const directory = stateDirectory();
    const workspace = project();
    chmodSync(join(workspace, "b.txt"), 0);
    const failure = await kTried({ directory }, workspace);
    expect(failure).toMatchObject({ code: "ERR_SANDBOX_UNAVAILABLE" });
    expect((failure as Error).message).toContain("b.txt can't be copied");
    chmodSync(join(workspace, "b.txt"), 0o600);
    mkdirSync(join(workspace, "shut"), { mode: 0 });
    expect((await kTried({ directory }, workspace)) as Error).toMatchObject({
      message: expect.stringContaining("shut"),
    });
    expect(readdirSync(directory)).toEqual([]);
    expect(existsSync(join(workspace, "a.txt"))).toBe(true);
  });
});
