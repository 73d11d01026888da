/** What was done with a transaction is recorded, published and counted. */

import { createHash } from "node:crypto";
import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";

import type { TransactionMessage } from "../support/package.js";
import { describeSandboxed } from "../support/requirements.js";
import { run } from "../support/results.js";
import { openTransaction, project } from "../support/transactions.js";

const kChannel = "@openagentic/native-runner:transaction";
let heard: TransactionMessage[] = [];
const listen = (message: unknown) => heard.push(message as TransactionMessage);
beforeEach(() => {
  heard = [];
  subscribe(kChannel, listen);
});
afterEach(() => {
  unsubscribe(kChannel, listen);
});

const sha256 = (text: string) => createHash("sha256").update(text).digest("hex");

describeSandboxed("the record of a run", () => {
  test("says which transaction it belongs to, whatever kind of run it is", async () => {
    const { transaction, runner } = await openTransaction(project());
    const session = await transaction.openSession();
    const live = await transaction.spawn({ argv: ["true"] });
    const results = [
      (await run(transaction, "true")).result,
      (await run(session, "true")).result,
      await live.result,
      ...(await transaction.execBatch([["true"], ["false"]])),
    ];
    for (const { audits } of results)
      expect(audits).toMatchObject([{ transaction: transaction.id }]);
    const [outside] = (await run(runner, "true")).result.audits;
    expect(outside, "the control").not.toHaveProperty("transaction");
    await transaction.discard();
  });
});

describeSandboxed("the record of a commit", () => {
  test("has what it wrote, with digests, and who has approved it", async () => {
    const { transaction } = await openTransaction(project());
    const large = "x".repeat(300_000);
    const script = `echo mine > a.txt; rm b.txt; mkdir dir; ln -s a.txt dir/link; : > empty; printf %s ${"x".repeat(1000)} > p; for i in $(seq 300); do cat p; done > large; rm p; mkfifo fifo`;
    await run(transaction, script);
    const { audit } = await transaction.commit({ approvedBy: "somebody" });
    const expected = {
      kind: "native.transaction",
      transaction: transaction.id,
      action: "commit",
      at: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/),
      durationMs: expect.any(Number),
      outcome: "done",
      approvedBy: "somebody",
      committed: [
        { path: "a.txt", kind: "modified", type: "file", size: 5, sha256: sha256("mine\n") },
        { path: "b.txt", kind: "deleted", type: "file", size: 0 },
        { path: "dir", kind: "added", type: "directory", size: 0 },
        { path: "dir/link", kind: "added", type: "symlink", size: 5 },
        { path: "empty", kind: "added", type: "file", size: 0, sha256: sha256("") },
        { path: "large", kind: "added", type: "file", size: 300_000, sha256: sha256(large) },
      ],
      omitted: 0,
    };
    expect(audit).toEqual(expected);
    expect(heard).toEqual([{ runner: expect.any(Number), audit: expected }]);
    expect(heard[0]?.audit).toBe(audit);
    await transaction.discard();
  });

  test("is there for each thing that was done, and each that was not", async () => {
    const { transaction, runner, workspace } = await openTransaction(project());
    await run(transaction, "echo mine > a.txt; echo x > .envrc");
    await transaction.changes();
    await expect(transaction.commit()).rejects.toMatchObject({ code: "ERR_TRANSACTION_PROTECTED" });
    const checkpoint = await transaction.checkpoint();
    await transaction.rollback(checkpoint);
    await transaction.commit({ paths: ["a.txt"] });
    await new Promise((resolve) => setTimeout(resolve, 50)); // files' times are that coarse
    writeFileSync(join(workspace, "a.txt"), "host\n");
    await expect(transaction.undo()).rejects.toMatchObject({ code: "ERR_TRANSACTION_CONFLICT" });
    await expect(transaction.commit({ paths: ["../x"] })).rejects.toThrow(TypeError);
    await expect(transaction.commit({ approvedBy: 7 as never })).rejects.toThrow(TypeError);
    expect(transaction.metrics().transactions.open).toBe(1);
    await transaction.discard();
    expect(heard.map(({ audit: { action, outcome, paths } }) => [action, outcome, paths])).toEqual([
      ["commit", "protected", [".envrc"]],
      ["checkpoint", "done", undefined],
      ["rollback", "done", undefined],
      ["commit", "done", undefined],
      ["undo", "conflict", ["a.txt"]],
      ["discard", "done", undefined],
    ]);
    expect(heard[2]?.audit.checkpoint).toBe(checkpoint.id);
    expect(new Set(heard.map(({ audit }) => audit.transaction))).toEqual(new Set([transaction.id]));
    const counts = {
      open: 0,
      opened: 1,
      forks: 0,
      merges: 0,
      adoptions: 0,
      commits: 1,
      undos: 0,
      checkpoints: 1,
      rollbacks: 1,
      discards: 1,
      conflicts: 1,
      protected: 1,
      unexpected: 0,
      failed: 0,
      paths: 1,
      bytes: 5,
    };
    expect(transaction.metrics().transactions).toEqual(counts);
    expect(runner.metrics().transactions).toEqual(counts);
    expect(transaction.metrics().runs.outcomes.exited, "counts go on").toBe(1);
  });

  test("counts what the record leaves out", async () => {
    const { transaction } = await openTransaction(project());
    await run(transaction, "mkdir many; cd many; for i in $(seq 10050); do : > $i; done");
    const { audit, committed } = await transaction.commit();
    expect(committed).toHaveLength(10_051);
    expect(audit.committed).toHaveLength(10_000);
    expect(audit.omitted).toBe(51);
    expect(transaction.metrics().transactions.paths).toBe(10_051);
    await transaction.discard();
  }, 60_000);
});
