/** What the host changes, and a command that runs keeps others from seeing: never lost, always a conflict. */

import { mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";

import { describeSandboxed } from "../support/requirements.js";
import { run } from "../support/results.js";
import { openTransaction, pastTick, project } from "../support/transactions.js";

describeSandboxed("what the host changes, and a command that runs has not seen", () => {
  test("is a conflict where a command that runs has not seen it, whatever ends meanwhile", async () => {
    const workspace = project();
    const { transaction } = await openTransaction(workspace, {}, "overlay");
    await run(transaction, "cat a.txt");
    const script = "cat a.txt; read go; echo more >> a.txt";
    const live = await transaction.spawn({ argv: ["sh", "-c", script] });
    const chunks = live.stdout[Symbol.asyncIterator]();
    expect(Buffer.from((await chunks.next()).value ?? "").toString()).toBe("one\n");
    const other = await transaction.spawn({ argv: ["sh", "-c", "echo on; read go"] });
    for await (const _ of other.stdout) {
      renameSync(join(workspace, "b.txt"), join(workspace, "a.txt"));
      await pastTick();
      await other.stdin.write("go\n");
    }
    await other.result;
    await transaction.changes(); // which looks: nothing has been changed until now
    await live.stdin.write("go\n");
    await live.result;
    const [change] = await transaction.changes();
    expect(change).toMatchObject({ path: "a.txt", conflict: true });
    await expect(transaction.commit()).rejects.toMatchObject({ code: "ERR_TRANSACTION_CONFLICT" });
    expect(readFileSync(join(workspace, "a.txt"), "utf8")).toBe("two\n");
    await transaction.discard();
  });

  test.each([
    ["writes to", "echo more >> a.txt"],
    ["replaces", "sed s/o/0/ a.txt > n; mv n a.txt"],
  ])(
    "is a conflict where what runs has it open, and hides it from what %s it",
    async (_, script) => {
      for (const isHeld of [true, false]) {
        const workspace = project();
        const { transaction } = await openTransaction(workspace, {}, "overlay");
        const hold = ["sh", "-c", "exec 3< a.txt; echo open; read go"];
        const live = await transaction.spawn({ argv: hold });
        await live.stdout[Symbol.asyncIterator]().next();
        if (!isHeld) {
          await live.stdin.write("go\n");
          await live.result;
        }
        await run(transaction, "true");
        await pastTick();
        renameSync(join(workspace, "b.txt"), join(workspace, "a.txt"));
        await pastTick();
        await run(transaction, "true");
        const { out } = await run(transaction, `cat a.txt; ${script}`);
        expect(out).toBe(isHeld ? "one" : "two");
        if (isHeld) await live.stop();
        const changes = await transaction.changes();
        const change = changes.find(({ path }) => path === "a.txt");
        expect(change?.conflict ?? false).toBe(isHeld);
        const refused = { code: "ERR_TRANSACTION_CONFLICT" };
        if (isHeld) await expect(transaction.commit()).rejects.toMatchObject(refused);
        else await transaction.commit();
        expect(readFileSync(join(workspace, "a.txt"), "utf8")).toMatch(/^tw/);
        await transaction.discard();
      }
    },
  );

  test("is a conflict where it is hidden by a directory that a command works in", async () => {
    for (const isHeld of [true, false]) {
      const workspace = project();
      for (const name of ["d", "other"]) {
        mkdirSync(join(workspace, name));
        writeFileSync(join(workspace, name, "x"), name);
      }
      await pastTick();
      const { transaction } = await openTransaction(workspace, {}, "overlay");
      const cwd = isHeld ? "d" : ".";
      const live = await transaction.spawn({ argv: ["sh", "-c", "echo on; read go"], cwd });
      await live.stdout[Symbol.asyncIterator]().next();
      await run(transaction, "cat d/x");
      await pastTick();
      renameSync(join(workspace, "d"), join(workspace, "away"));
      renameSync(join(workspace, "other"), join(workspace, "d"));
      await pastTick();
      await run(transaction, "true");
      const { out } = await run(transaction, "cat d/x; echo more >> d/x");
      await live.stop();
      const change = (await transaction.changes()).find(({ path }) => path === "d/x");
      // Which of them is shown, and from when on, is the kernel's.
      if (out === "d") expect(change?.conflict).toBe(true);
      if (!isHeld) expect([out, change?.conflict]).toEqual(["other", undefined]);
      await transaction.discard();
    }
  });
});
