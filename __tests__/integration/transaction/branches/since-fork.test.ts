/** What a branch has changed since it and another one parted. */

import { mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";

import type { Change, Transaction } from "../../support/package.js";
import { run } from "../../support/results.js";
import { tempDirectory } from "../../support/temp.js";
import { describeBackends } from "../../support/transactions.js";
import { linesOf } from "./branch-trees.js";

function workspaceOf(): string {
  const workspace = tempDirectory();
  mkdirSync(join(workspace, "dir"));
  writeFileSync(join(workspace, "text.txt"), linesOf("1", "2", "3", "4", "5"));
  writeFileSync(join(workspace, "dir/in.txt"), "in\n");
  writeFileSync(join(workspace, "gone.txt"), "gone, but not yet\n");
  return workspace;
}

const told = (changes: readonly Change[]) =>
  changes.map(({ kind, path, from }) => `${kind} ${path}${from === undefined ? "" : ` ${from}`}`);

describeBackends("changes and diff since two parted", (openTransaction) => {
  test("tell of neither what was before, nor what the other one has done", async () => {
    const { transaction, runner, state } = await openTransaction(workspaceOf());
    await run(
      transaction,
      "sed -i s/2/before/ text.txt; echo old > old; echo kept > kept; ln -s old link; chmod 755 dir/in.txt",
    );
    const fork = await transaction.fork();
    await run(
      fork,
      "sed -i s/4/fork/ text.txt; echo new > new; echo more >> old; rm kept; ln -sf new link; mv gone.txt went.txt",
    );
    await run(transaction, "sed -i s/5/here/ text.txt; echo mine > mine");

    expect(told(await fork.changes({ sinceFork: transaction }))).toEqual([
      "deleted kept",
      "modified link",
      "added new",
      "modified old",
      "modified text.txt",
      "renamed went.txt gone.txt",
    ]);
    expect(told(await transaction.changes({ sinceFork: fork }))).toEqual([
      "added mine",
      "modified text.txt",
    ]);
    // The control: against each other, both sides' are told.
    expect(told(await fork.changes({ since: transaction }))).toContain("deleted mine");
    const diff = await fork.diff({ sinceFork: transaction, paths: ["text.txt", "old"] });
    expect(diff).toContain("-4\n+fork\n");
    expect(diff).toContain(" old\n+more\n");
    expect(diff).toContain(" before\n");
    expect(diff).not.toMatch(/^[-+](2|5|here|before)$/m);
    expect(await fork.changes({ sinceFork: transaction, paths: ["dir"] })).toEqual([]);
    for (const { id } of [transaction, fork]) {
      expect(readdirSync(join(state, id))).not.toContain("parted");
    }
    await runner.close();
  });

  test("begin anew with a merge, and are those against the host of two that never were one", async () => {
    const { transaction, runner, state } = await openTransaction(workspaceOf());
    const fork = await transaction.fork();
    await run(fork, "sed -i s/4/fork/ text.txt");
    await transaction.merge(fork);
    expect(await fork.changes({ sinceFork: transaction })).toEqual([]);
    await run(fork, "echo later > later");
    expect(told(await fork.changes({ sinceFork: transaction }))).toEqual(["added later"]);
    const other: Transaction = await runner.openTransaction({
      directory: state,
      backend: transaction.backend,
    });
    expect(await fork.changes({ sinceFork: other })).toEqual(await fork.changes());
    await runner.close();
  });

  test("take one transaction, of the same workspace", async () => {
    const { transaction, runner } = await openTransaction(workspaceOf());
    const elsewhere = await openTransaction(workspaceOf());
    const fork = await transaction.fork();
    const given: object[] = [
      { sinceFork: fork, since: fork },
      { sinceFork: fork.id },
      { sinceFork: transaction },
      { sinceFork: elsewhere.transaction },
    ];
    for (const options of given) {
      for (const call of ["changes", "diff"] as const) {
        await expect(transaction[call](options)).rejects.toMatchObject({
          code: expect.stringMatching(/^ERR_INVALID_ARG/) as string,
        });
      }
    }
    const details = transaction.changes({ sinceFork: fork, details: true });
    await expect(details).rejects.toThrow("with `sinceFork`");
    await elsewhere.runner.close();
    await runner.close();
  });
});
