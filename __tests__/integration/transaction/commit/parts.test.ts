/** A commit of what somebody has looked at, and of parts of files. */

import { createHash } from "node:crypto";
import { chmodSync, existsSync, mkdirSync, readFileSync, statSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";

import { BubblewrapNativeRunner, type Change } from "../../support/package.js";
import { run } from "../../support/results.js";
import { describeBackends, project, treeOf } from "../../support/transactions.js";

const textIn = (workspace: string, name: string) => readFileSync(join(workspace, name), "utf8");
const sha256 = (text: string) => createHash("sha256").update(text).digest("hex");
const failureOf = (promise: Promise<unknown>) => promise.catch((error: unknown) => error);

describeBackends("a commit of parts", (openTransaction, backend) => {
  test("brings what was given, keeps the rest as a change, and is undone", async () => {
    const { transaction, workspace } = await openTransaction(project());
    await run(transaction, "printf 'ONE\\nmiddle\\nEND\\n' > a.txt; echo mine > b.txt");
    const changes = await transaction.changes();
    const { committed, left, audit } = await transaction.commit({
      paths: ["a.txt"],
      contents: { "a.txt": "one\nmiddle\n" },
    });
    expect(textIn(workspace, "a.txt")).toBe("one\nmiddle\n");
    expect(textIn(workspace, "b.txt")).toBe("two\n");
    expect(committed).toMatchObject([{ path: "a.txt", kind: "modified", size: 11 }]);
    expect(audit.committed).toMatchObject([{ sha256: sha256("one\nmiddle\n"), size: 11 }]);
    expect(left).toEqual(await transaction.changes());
    expect(left).toMatchObject([
      { path: "a.txt", kind: "modified", size: 15, previousSize: 11 },
      { path: "b.txt" },
    ]);
    expect(await run(transaction, "cat a.txt")).toMatchObject({ out: "ONE\nmiddle\nEND" });
    await transaction.undo();
    expect(textIn(workspace, "a.txt")).toBe("one\n");
    expect(await transaction.changes()).toEqual(changes);
    await transaction.commit();
    expect(textIn(workspace, "a.txt")).toBe("ONE\nmiddle\nEND\n");
    await transaction.discard();
  });

  test("one part after the other comes to the whole", async () => {
    const { transaction, workspace } = await openTransaction(project());
    await run(transaction, "printf '1\\n2\\n3\\n' > a.txt");
    for (const text of ["1\none\n", "1\n2\n", "1\n2\n3\n"]) {
      await transaction.commit({ contents: { "a.txt": text } });
      expect(textIn(workspace, "a.txt")).toBe(text);
    }
    expect(await transaction.changes()).toEqual([]);
    await transaction.discard();
  });

  test("of a file that is new, with its mode, in a directory that is new", async () => {
    const { transaction, workspace } = await openTransaction(project());
    await run(
      transaction,
      "mkdir -p sub/deep; printf 'a\\nb\\n' > sub/deep/x.sh; chmod 751 sub/deep/x.sh",
    );
    const { left } = await transaction.commit({ contents: { "sub/deep/x.sh": "a\n" } });
    expect(textIn(workspace, "sub/deep/x.sh")).toBe("a\n");
    expect(statSync(join(workspace, "sub/deep/x.sh")).mode & 0o7777).toBe(0o751);
    expect(left).toMatchObject([{ path: "sub/deep/x.sh", kind: "modified", previousSize: 2 }]);
    expect(await transaction.changes()).toEqual(left);
    await transaction.undo();
    expect(existsSync(join(workspace, "sub"))).toBe(false);
    await transaction.discard();
  });

  test("of files with a mode that shuts them, with two names, empty, and large", async () => {
    const { transaction, workspace } = await openTransaction(project());
    const large = "line\n".repeat(400_000);
    await run(
      transaction,
      "echo mine > shut.txt; chmod 000 shut.txt; echo both > one.txt; ln one.txt two.txt; echo x > a.txt",
    );
    await transaction.files.write("large.txt", `${large}more\n`);
    await transaction.commit({
      contents: { "shut.txt": "part\n", "one.txt": "first\n", "a.txt": "", "large.txt": large },
    });
    expect(statSync(join(workspace, "shut.txt")).mode & 0o7777).toBe(0);
    chmodSync(join(workspace, "shut.txt"), 0o600);
    expect(textIn(workspace, "shut.txt")).toBe("part\n");
    expect(textIn(workspace, "one.txt")).toBe("first\n");
    expect(textIn(workspace, "two.txt")).toBe("both\n");
    expect(textIn(workspace, "a.txt")).toBe("");
    expect(textIn(workspace, "large.txt")).toBe(large);
    await transaction.discard();
  });

  test("what was given stays the host's when it is taken up by another", async () => {
    const { transaction, workspace, state } = await openTransaction(project());
    await run(transaction, "printf 'ONE\\nmore\\n' > a.txt");
    await transaction.commit({ contents: { "a.txt": "one\nmore\n" } });
    await transaction.close();
    const runner = new BubblewrapNativeRunner({ shadowDir: workspace, prewarm: 0 });
    const again = await runner.resumeTransaction(transaction.id, { directory: state });
    expect(again.backend).toBe(backend);
    expect(await again.changes()).toMatchObject([{ path: "a.txt", kind: "modified", size: 9 }]);
    await again.commit();
    expect(textIn(workspace, "a.txt")).toBe("ONE\nmore\n");
    await runner.close();
  });

  test("of what is no file that is committed is misuse, and changes nothing", async () => {
    const { transaction, workspace } = await openTransaction(project());
    await run(transaction, "echo mine > a.txt; rm gone.txt; mkdir made; ln -s a.txt link");
    const before = treeOf(workspace);
    for (const path of ["b.txt", "gone.txt", "made", "link", "none.txt", "./a.txt"]) {
      const failure = await failureOf(transaction.commit({ contents: { [path]: "x" } }));
      expect(failure, path).toBeInstanceOf(TypeError);
      expect(String(failure)).toContain("contents");
    }
    const others = await failureOf(
      transaction.commit({ paths: ["gone.txt"], contents: { "a.txt": "x" } }),
    );
    expect(others).toBeInstanceOf(TypeError);
    const wrong = await failureOf(transaction.commit({ contents: { "a.txt": 7 as never } }));
    expect(String(wrong)).toContain('contents["a.txt"]');
    expect(treeOf(workspace)).toEqual(before);
    await transaction.commit({ contents: { "a.txt": "x" } }); // and one that is
    expect(textIn(workspace, "a.txt")).toBe("x");
    await transaction.discard();
  });
});

describeBackends("a commit of what was looked at", (openTransaction) => {
  const kScript =
    "echo mine > a.txt; rm gone.txt; mkdir made; echo in > made/in.txt; ln -s a.txt link; chmod 700 run.sh";

  test("is done where all is as it was seen", async () => {
    const { transaction, workspace } = await openTransaction(project());
    await run(transaction, `${kScript}; mv b.txt c.txt`);
    const expected = await transaction.changes({ details: true });
    expect(expected.some(({ kind }) => kind === "renamed")).toBe(true);
    await transaction.commit({ expected });
    expect(textIn(workspace, "a.txt")).toBe("mine\n");
    expect(existsSync(join(workspace, "b.txt"))).toBe(false);
    expect(await transaction.changes()).toEqual([]);
    await transaction.discard();
  });

  test.each([
    ["other contents of the same size", "echo mean > a.txt", ["a.txt"]],
    ["another mode", "chmod 755 a.txt", ["a.txt"]],
    ["what was removed is there again", "echo back > gone.txt", ["gone.txt"]],
    ["what was made is gone", "rm made/in.txt", ["made/in.txt"]],
    ["another target", "ln -sfn b.txt link", ["link"]],
    ["a file that nobody has seen", "echo new > made/unseen.txt", ["made/unseen.txt"]],
    ["a file in a link's place", "rm link; echo x > link", ["link"]],
    ["a directory's mode", "chmod 711 made", ["made"]],
  ])("is refused for %s, and changes nothing", async (_, script, paths) => {
    const { transaction, workspace } = await openTransaction(project());
    await run(transaction, kScript);
    const expected = await transaction.changes({ details: true });
    await run(transaction, script);
    const before = treeOf(workspace);
    const failure = await failureOf(transaction.commit({ expected }));
    expect(failure).toMatchObject({ code: "ERR_TRANSACTION_UNEXPECTED", paths });
    expect(treeOf(workspace)).toEqual(before);
    await transaction.commit({ expected: await transaction.changes({ details: true }) });
    expect(treeOf(workspace)).not.toEqual(before);
    await transaction.discard();
  });

  test("ends nothing that runs when it is refused", async () => {
    const { transaction } = await openTransaction(project());
    await run(transaction, "echo mine > a.txt");
    const expected = await transaction.changes({ details: true });
    const running = run(
      transaction,
      "echo more >> a.txt; until [ -e go ]; do sleep 0.05; done; echo went",
    );
    await expect
      .poll(async () => (await transaction.changes())[0]?.size, { timeout: 20_000 })
      .toBe(10);
    const failure = await failureOf(transaction.commit({ expected }));
    expect(failure).toMatchObject({ code: "ERR_TRANSACTION_UNEXPECTED" });
    await transaction.files.write("go", "");
    expect(await running).toMatchObject({ out: "went" });
    await transaction.discard();
  });

  test("takes a directory that has to be made as seen", async () => {
    const { transaction, workspace } = await openTransaction(project());
    await run(transaction, "mkdir -p p/q; echo in > p/q/in.txt; echo out > p/q/out.txt");
    const seen = await transaction.changes({ details: true });
    const expected = seen.filter(({ path }) => path === "p/q/in.txt");
    const { committed } = await transaction.commit({ paths: ["p/q/in.txt"], expected });
    expect(committed.map(({ path }) => path)).toEqual(["p", "p/q", "p/q/in.txt"]);
    expect(existsSync(join(workspace, "p/q/out.txt"))).toBe(false);
    await transaction.discard();
  });

  test("exactly what is named is committed, and what it needs", async () => {
    const { transaction, workspace } = await openTransaction(project());
    await run(
      transaction,
      "mkdir -p p/q; echo in > p/q/in.txt; echo out > p/q/out.txt; echo x > a.txt",
    );
    const { committed } = await transaction.commit({ paths: ["p", "p/q/in.txt"], exact: true });
    expect(committed.map(({ path }) => path)).toEqual(["p", "p/q", "p/q/in.txt"]);
    expect(existsSync(join(workspace, "p/q/out.txt"))).toBe(false);
    const left = await transaction.commit({ paths: ["p"], exact: true });
    expect(left.committed).toEqual([]);
    await expect(transaction.commit({ exact: 1 as never })).rejects.toThrow(/exact/);
    await transaction.commit({ paths: ["."] });
    expect(textIn(workspace, "a.txt")).toBe("x\n");
    await transaction.discard();
  });

  test("names what is wrong with what was expected", async () => {
    const { transaction } = await openTransaction(project());
    await run(transaction, "echo mine > a.txt");
    const plain = await transaction.changes();
    await expect(transaction.commit({ expected: plain })).rejects.toThrow(/expected\[0\]\.version/);
    await expect(transaction.commit({ expected: {} as Change[] })).rejects.toThrow(/expected/);
    await expect(transaction.changes({ details: 1 as never })).rejects.toThrow(/details/);
    await transaction.discard();
  });

  test("the details tell when, and what is protected", async () => {
    const workspace = project();
    mkdirSync(join(workspace, ".git"));
    symlinkSync("a.txt", join(workspace, "old"));
    const { transaction } = await openTransaction(workspace);
    const beginMs = Date.now() - 50;
    await run(
      transaction,
      "mkdir .git/hooks; echo x > .git/hooks/pre-commit; echo mine > a.txt; rm old",
    );
    const changes = await transaction.changes({ details: true });
    const byPath = new Map(changes.map((change) => [change.path, change]));
    expect(byPath.get(".git/hooks/pre-commit")?.protected).toBe(true);
    expect(byPath.get("a.txt")?.protected).toBeUndefined();
    const changedMs = byPath.get("a.txt")?.changedAt?.getTime() ?? 0;
    expect(changedMs).toBeGreaterThanOrEqual(beginMs);
    expect(changedMs).toBeLessThanOrEqual(Date.now() + 50);
    expect((await transaction.changes())[0]).not.toHaveProperty("version");
    await transaction.discard();
  });
});
