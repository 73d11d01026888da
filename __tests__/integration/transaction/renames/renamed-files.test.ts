/** A file that has another name is told as "renamed", and each of its two paths is a change by itself. */

import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";

import type { Change } from "../../support/package.js";
import { describeSandboxed } from "../../support/requirements.js";
import { run } from "../../support/results.js";
import { openTransaction, project } from "../../support/transactions.js";

/** "added a", "b renamed a!": with the mark of a conflict. */
const reported = (changes: readonly Change[]) =>
  changes.map(
    ({ kind, path, from, conflict }) =>
      `${from === undefined ? "" : `${from} `}${kind} ${path}${conflict ? "!" : ""}`,
  );

describeSandboxed("a file that has another name", () => {
  test("is told with what it was", async () => {
    const { transaction } = await openTransaction(project());
    await run(transaction, "mkdir sub; mv a.txt sub/b; chmod 700 sub/b");
    expect(await transaction.changes()).toEqual([
      expect.objectContaining({ path: "sub", kind: "added", type: "directory" }),
      {
        path: "sub/b",
        kind: "renamed",
        from: "a.txt",
        type: "file",
        size: 4,
        previousSize: 4,
        mode: 0o100700,
        previousMode: 0o100644,
      },
    ]);
    await transaction.discard();
  });

  test("is told by each side, where one alone is asked for", async () => {
    const { transaction } = await openTransaction(project());
    await run(transaction, "mkdir sub; mv a.txt sub/b");
    const of = async (...paths: string[]) => reported(await transaction.changes({ paths }));
    expect(await of("a.txt")).toEqual(["deleted a.txt"]);
    expect(await of("sub")).toEqual(["added sub", "added sub/b"]);
    expect(await of("a.txt", "sub/b")).toEqual(["a.txt renamed sub/b"]);
    await transaction.discard();
  });

  test.each([
    ["the old path", "a.txt", "one\n", ["a.txt renamed b!"]],
    // It is one of the host's by then, so that it has not come from elsewhere.
    ["the new path", "b", "other\n", ["deleted a.txt", "modified b!"]],
  ])("is a conflict where the host has changed %s", async (_, path, text, expected) => {
    const { transaction, workspace } = await openTransaction(project());
    await run(transaction, "mv a.txt b");
    expect(reported(await transaction.changes())).toEqual(["a.txt renamed b"]);
    writeFileSync(join(workspace, path), text);
    expect(reported(await transaction.changes())).toEqual(expected);
    const refused = { code: "ERR_TRANSACTION_CONFLICT", paths: [path] };
    await expect(transaction.commit()).rejects.toMatchObject(refused);
    await transaction.discard();
  });

  test("is committed whole, or the one path and later the other", async () => {
    for (const first of [["a.txt"], ["sub"]]) {
      const { transaction, workspace, runner, state } = await openTransaction(project());
      await run(transaction, "mkdir sub; mv a.txt sub/b");
      const { committed, left } = await transaction.commit({ paths: first });
      const isOld = first[0] === "a.txt";
      expect(reported(committed)).toEqual(isOld ? ["deleted a.txt"] : ["added sub", "added sub/b"]);
      expect(reported(left)).toEqual(isOld ? ["added sub", "added sub/b"] : ["deleted a.txt"]);
      expect(existsSync(join(workspace, "a.txt"))).toBe(!isOld);
      expect(existsSync(join(workspace, "sub/b"))).toBe(!isOld);
      await transaction.close();
      const again = await runner.resumeTransaction(transaction.id, { directory: state });
      await again.commit();
      expect(existsSync(join(workspace, "a.txt"))).toBe(false);
      expect(readFileSync(join(workspace, "sub/b"), "utf8")).toBe("one\n");
      await again.discard();
    }
    const { transaction } = await openTransaction(project());
    await run(transaction, "mv a.txt z; mkfifo pipe");
    const report = await transaction.commit();
    expect(reported(report.committed)).toEqual(["a.txt renamed z"]);
    expect(reported(report.left)).toEqual(["added pipe"]);
    await transaction.discard();
  });

  test("is refused where either path is protected", async () => {
    const protectedOnes: [string, string][] = [
      ["mkdir -p .git/hooks; mv run.sh .git/hooks/pre-commit", ".git/hooks/pre-commit"],
      ["mv .envrc plain", ".envrc"],
    ];
    for (const [script, path] of protectedOnes) {
      const workspace = project();
      writeFileSync(join(workspace, ".envrc"), "export A=1\n");
      const { transaction } = await openTransaction(workspace);
      expect(await run(transaction, script)).toMatchObject({ exitCode: 0 });
      const failure = (await transaction.commit().catch((error: unknown) => error)) as {
        code: string;
        paths: string[];
      };
      expect(failure.code).toBe("ERR_TRANSACTION_PROTECTED");
      expect(failure.paths).toContain(path);
      await transaction.discard();
    }
  });
});
