/** A checkpoint keeps what a transaction has changed, and `rollback` leads back to it. */

import { existsSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";

import { TransactionError } from "../support/package.js";
import { run } from "../support/results.js";
import { describeBackends, differences, project, treeOf } from "../support/transactions.js";
import { changedCopy, copyOf, kScripts, workspaceWithAll } from "./tree-scripts.js";

const isOther = ({ type }: { type: string }) => type === "other";
const kLater =
  "chmod -R u+rwx . 2>/dev/null; echo later > later.txt; rm -rf -- *; mkdir -p x/y; echo z > x/y/z";

// What a copy knows is its files' inodes, modes and times: those that are about these.
const kForCopies =
  /^(nothing|times|writing|another|modes|links|names that change|there and|FIFOs|hard|odd|unreadable)/;
const isForCopies = ([name]: [string, string]) => kForCopies.test(name);

describeBackends("a rollback", (open, backend) => {
  test.each(backend === "copy" ? kScripts.filter(isForCopies) : kScripts)(
    "to a checkpoint after %s gives exactly its changes",
    async (name, script) => {
      const workspace = workspaceWithAll();
      const before = copyOf(workspace);
      const expected = await changedCopy(workspace, script);
      const { transaction } = await open(workspace);
      await run(transaction, script);
      const changes = await transaction.changes();
      const diffOf = () => transaction.diff().catch(({ name }: Error) => name); // holes are too large
      const diff = await diffOf();
      const checkpoint = await transaction.checkpoint(name);
      await run(transaction, kLater);
      expect(await transaction.changes(), "the control").not.toEqual(changes);
      await transaction.rollback(checkpoint);
      expect(await transaction.changes()).toEqual(changes);
      expect(await diffOf()).toBe(diff);
      expect(differences(before, workspace)).toEqual([]);
      await transaction.commit();
      expect(differences(workspace, expected).every(isOther)).toBe(true);
      await transaction.discard();
    },
  );

  test("is to any of several, by its id too, and later ones are gone", async () => {
    const { transaction } = await open(project());
    const first = await transaction.checkpoint("nothing yet");
    await run(transaction, "echo 1 > a.txt");
    const second = await transaction.checkpoint();
    await run(transaction, "echo 2 > a.txt; rm b.txt");
    const third = await transaction.checkpoint("third");
    expect(await transaction.checkpoints()).toEqual([first, second, third]);
    expect(first).toEqual({
      id: expect.any(String),
      name: "nothing yet",
      createdAt: expect.any(Date),
    });
    expect(second).not.toHaveProperty("name");
    await run(transaction, "echo 3 > a.txt");
    await transaction.rollback(third.id);
    expect(await run(transaction, "cat a.txt; ls b.txt 2>&1 | wc -l")).toMatchObject({
      out: "2\n1",
    });
    await transaction.rollback(second);
    expect(await run(transaction, "cat a.txt b.txt")).toMatchObject({ out: "1\ntwo" });
    expect(await transaction.checkpoints()).toEqual([first, second]);
    const gone = transaction.rollback(third);
    await expect(gone).rejects.toMatchObject({ code: "ERR_INVALID_ARG_VALUE" });
    expect(await run(transaction, "cat a.txt")).toMatchObject({ out: "1" });
    await transaction.rollback(first);
    expect(await transaction.changes()).toEqual([]);
    await transaction.discard();
  });

  test("ends what runs, and commands go on after it", async () => {
    const { transaction } = await open(project(), { prewarm: 1 });
    await run(transaction, "echo kept > a.txt");
    const checkpoint = await transaction.checkpoint();
    const session = await transaction.openSession();
    const running = run(transaction, "echo lost > a.txt; echo lost > made; sleep 1000");
    await expect.poll(() => transaction.changes()).toHaveLength(2);
    await transaction.rollback(checkpoint);
    expect(await running).toMatchObject({ kind: "aborted" });
    expect(session.isOpen).toBe(false);
    expect(await run(transaction, "cat a.txt; ls made 2>&1 | wc -l")).toMatchObject({
      out: "kept\n1",
    });
    await transaction.discard();
  });

  test("goes back to a checkpoint of before the transaction was closed", async () => {
    const { transaction, runner, state } = await open(project());
    await run(transaction, "echo kept > a.txt; mkdir made; echo x > made/x");
    const checkpoint = await transaction.checkpoint("kept");
    const changes = await transaction.changes();
    await run(transaction, "rm -r made; echo lost > a.txt");
    await transaction.close();
    const resumed = await runner.resumeTransaction(transaction.id, { directory: state });
    expect(await resumed.checkpoints()).toEqual([checkpoint]);
    await resumed.rollback(checkpoint);
    expect(await resumed.changes()).toEqual(changes);
    await resumed.close();
    const again = await runner.resumeTransaction(transaction.id, { directory: state });
    expect(again.recovered).toBe(undefined);
    expect(await again.changes()).toEqual(changes);
    await again.discard();
  });

  test("still tells what the host has changed since", async () => {
    const { transaction, workspace } = await open(project());
    await run(transaction, "echo mine > a.txt; echo mine > b.txt");
    const checkpoint = await transaction.checkpoint();
    await run(transaction, "echo more >> b.txt; echo new > new");
    writeFileSync(join(workspace, "a.txt"), "host\n");
    renameSync(join(workspace, "gone.txt"), join(workspace, "new"));
    await transaction.rollback(checkpoint);
    const reported = (await transaction.changes()).map(({ path, conflict }) => [path, conflict]);
    expect(reported).toEqual([
      ["a.txt", true],
      ["b.txt", undefined],
    ]);
    const out = backend === "overlay" ? "three" : ""; // a copy has what the host had
    expect(await run(transaction, "cat new")).toMatchObject({ out });
    await transaction.discard();
  });
});

describeBackends("a checkpoint", (open) => {
  test("is refused while a command runs, and not by an idle session", async () => {
    const { transaction } = await open(project());
    const session = await transaction.openSession();
    await run(session, "echo mine > a.txt");
    const running = run(session, "sleep 1000");
    const busy = await transaction.checkpoint().catch((error: unknown) => error);
    expect(busy).toBeInstanceOf(TransactionError);
    expect(busy).toMatchObject({ code: "ERR_TRANSACTION_BUSY" });
    await session.close();
    await running;
    const second = await transaction.openSession();
    await run(second, "echo other > b.txt");
    const checkpoint = await transaction.checkpoint();
    await run(second, "echo lost > b.txt");
    await transaction.rollback(checkpoint);
    expect(await run(transaction, "cat a.txt b.txt")).toMatchObject({ out: "mine\nother" });
    await transaction.discard();
  });

  test("is ended by a commit and by an undo", async () => {
    const { transaction, state } = await open(project());
    await run(transaction, "echo mine > a.txt");
    const before = await transaction.checkpoint();
    await transaction.commit();
    expect(await transaction.checkpoints()).toEqual([]);
    await expect(transaction.rollback(before)).rejects.toThrow(TypeError);
    await run(transaction, "echo other > b.txt");
    const after = await transaction.checkpoint();
    expect(await transaction.checkpoints()).toEqual([after]);
    await transaction.undo();
    expect(await transaction.checkpoints()).toEqual([]);
    const left = join(state, transaction.id, "checkpoints");
    expect([before, after].some(({ id }) => existsSync(join(left, id)))).toBe(false);
    await transaction.discard();
    expect(existsSync(left)).toBe(false);
  });

  test("does not change the workspace, and waits for its turn", async () => {
    const { transaction, workspace } = await open(project());
    const before = treeOf(workspace);
    await run(transaction, "for i in $(seq 100); do echo $i > f$i; done");
    const made = transaction.checkpoint();
    const later = run(transaction, "rm f*");
    const rolled = made.then((checkpoint) => later.then(() => transaction.rollback(checkpoint)));
    await rolled;
    expect((await transaction.changes()).length).toBe(100);
    expect(treeOf(workspace)).toEqual(before);
    await transaction.discard();
  });

  test("refuses names that are none, and is none once it was closed", async () => {
    const { transaction } = await open(project());
    const code = "ERR_INVALID_ARG_VALUE";
    await expect(transaction.checkpoint("x".repeat(257))).rejects.toMatchObject({ code });
    await expect(transaction.checkpoint("a\0b")).rejects.toMatchObject({ code });
    const type = { code: "ERR_INVALID_ARG_TYPE" };
    await expect(transaction.checkpoint(7 as never)).rejects.toMatchObject(type);
    await expect(transaction.rollback(7 as never)).rejects.toMatchObject(type);
    await expect(transaction.rollback("../upper")).rejects.toMatchObject({ code });
    await transaction.checkpoint("x".repeat(256));
    await transaction.close();
    const closed = { code: "ERR_SANDBOX_CLOSED" };
    await expect(transaction.checkpoint()).rejects.toMatchObject(closed);
    await expect(transaction.checkpoints()).rejects.toMatchObject(closed);
    await expect(transaction.rollback("0123456789ab")).rejects.toMatchObject(closed);
  });
});
