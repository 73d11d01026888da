/** Forks of a transaction: they begin as it is, and go on apart. */

import { once } from "node:events";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { expect, test } from "vitest";

import { BubblewrapNativeRunner, type Transaction } from "../../support/package.js";
import { run } from "../../support/results.js";
import { describeBackends, pastTick, project, treeOf } from "../../support/transactions.js";
import { killedHost, seenBy } from "./branch-trees.js";

/** Changes of each kind. */
const kChange = `echo mine > a.txt; rm gone.txt; mkdir -p dir/deep; echo x > dir/deep/file; ln -s a.txt link
  chmod 700 run.sh; mkfifo fifo; ln dir/deep/file hard; mv b.txt moved.txt`;

const opens = async (transaction: Transaction) => seenBy(transaction);

describeBackends("a fork", (openTransaction, backend) => {
  test("begins as its parent is, and both go on apart", async () => {
    const { transaction, workspace, runner, state } = await openTransaction(project());
    const before = treeOf(workspace);
    await run(transaction, kChange);
    const fork = await transaction.fork();
    expect(fork).toMatchObject({ backend, parent: transaction.id });
    expect(transaction.parent).toBeUndefined();
    expect(await opens(fork)).toBe(await opens(transaction));
    const paths = async (each: Transaction) => (await each.changes()).map(({ path }) => path);
    expect(await paths(fork)).toEqual(await paths(transaction));
    expect((await fork.changes()).some(({ conflict }) => conflict)).toBe(false);

    await run(fork, "echo fork > a.txt; echo f > dir/new; rm moved.txt");
    await run(transaction, "echo parent > a.txt; echo p > dir/other");
    expect((await run(fork, "cat a.txt; ls dir")).out).toBe("fork\ndeep\nnew");
    expect((await run(transaction, "cat a.txt; ls dir moved.txt")).out).toBe(
      "parent\nmoved.txt\n\ndir:\ndeep\nother",
    );
    expect(treeOf(workspace)).toEqual(before);
    const listed = await runner.transactions({ directory: state });
    expect(listed.map(({ id, parent }) => [id, parent])).toEqual([
      [transaction.id, undefined],
      [fork.id, transaction.id],
    ]);

    // Whoever commits first has it; to the other one that is a change of the host's.
    await fork.commit();
    expect(readFileSync(join(workspace, "a.txt"), "utf8")).toBe("fork\n");
    await expect(transaction.commit()).rejects.toMatchObject({
      code: "ERR_TRANSACTION_CONFLICT",
      paths: expect.arrayContaining(["a.txt"]) as string[],
    });
    await fork.undo();
    expect(treeOf(workspace)).toEqual(before);
    await transaction.discard();
    expect((await run(fork, "cat a.txt")).out).toBe("fork");
    await fork.discard();
    await runner.close();
  });

  test("is a transaction of its own to another process", async () => {
    const { transaction, workspace, runner, state } = await openTransaction(project());
    await run(transaction, kChange);
    const fork = await transaction.fork();
    const seen = await opens(fork);
    await runner.close();
    const other = new BubblewrapNativeRunner({ shadowDir: workspace, prewarm: 0 });
    const again = await other.resumeTransaction(fork.id, { directory: state });
    expect(again.parent).toBe(transaction.id);
    expect(await opens(again)).toBe(seen);
    await again.discard();
    await (await other.resumeTransaction(transaction.id, { directory: state })).discard();
    await other.close();
  });

  test("is made while commands go on: what is settled is in it, and none ends", async () => {
    const { transaction, runner } = await openTransaction(project());
    await run(
      transaction,
      "mkdir -p settled busy; for i in $(seq 50); do echo $i > settled/$i; done",
    );
    const script = `i=0; while [ ! -e stop ]; do i=$((i+1)); mkdir -p busy/$((i%7)); echo $i > busy/$((i%7))/a
      mv busy/$((i%7))/a busy/$((i%7))/b; rm -rf busy/$(((i+3)%7)); done; echo ended`;
    // However long eight forks take on a machine that is busy.
    const writes = run(transaction, script, { limits: { timeoutMs: Number.POSITIVE_INFINITY } });
    await expect.poll(async () => (await run(transaction, "ls busy")).out).not.toBe("");
    for (let round = 0; round < 8; round += 1) {
      const fork = await transaction.fork();
      const { out } = await run(fork, "cat settled/* | wc -l; cat settled/50");
      expect(out).toBe("50\n50");
      expect(await fork.changes()).not.toEqual([]);
      await fork.discard();
    }
    await run(transaction, "touch stop");
    expect((await writes).out).toBe("ended");
    await runner.close();
  });

  test("waits with `quiesce` until none runs, and those that are started wait for it", async () => {
    const { transaction, runner } = await openTransaction(project());
    const script = "echo begun; read line; echo done > state";
    const first = await transaction.spawn({ argv: ["sh", "-c", script] });
    await once(first.stdout, "data");
    const forking = transaction.fork({ quiesce: true });
    const later = run(transaction, "echo later > state");
    await expect(Promise.race([forking, setTimeout(200, "waits")])).resolves.toBe("waits");
    first.stdin.write("go\n");
    const fork = await forking;
    expect((await run(fork, "cat state")).out).toBe("done");
    await Promise.all([first.result, later]);
    expect((await run(transaction, "cat state")).out).toBe("later");
    await runner.close();
  });

  test("several at once, and forks of forks, thirty deep", async () => {
    const { transaction, runner } = await openTransaction(project());
    await run(transaction, "echo 0 > depth");
    const several = await transaction.fork({ count: 4 });
    expect(new Set(several.map(({ id }) => id)).size).toBe(4);
    for (const each of several) expect(each.parent).toBe(transaction.id);
    let last: Transaction = transaction;
    for (let depth = 1; depth <= 30; depth += 1) {
      last = await last.fork();
      await run(last, `echo ${depth} >> depth; mkdir d${depth}`);
    }
    expect((await run(last, "wc -l < depth; ls -d d*/ | wc -l")).out).toBe("31\n30");
    expect((await run(transaction, "cat depth")).out).toBe("0");
    await runner.close();
  });

  test("has the checkpoints and the home", async () => {
    const { transaction, runner } = await openTransaction(project());
    await run(transaction, "echo first > state; echo setting > ~/.setting");
    const { id } = await transaction.checkpoint("first");
    await run(transaction, "echo second > state");
    const fork = await transaction.fork();
    expect((await run(fork, "cat ~/.setting state; echo own > ~/.setting")).out).toBe(
      "setting\nsecond",
    );
    expect((await fork.checkpoints()).map(({ name }) => name)).toEqual(["first"]);
    await fork.rollback(id);
    expect((await run(fork, "cat state")).out).toBe("first");
    expect((await run(transaction, "cat state ~/.setting")).out).toBe("second\nsetting");
    await runner.close();
  });

  test("keeps what its parent knew of the host's files", async () => {
    const { transaction, workspace, runner } = await openTransaction(project());
    await run(transaction, "echo mine > a.txt");
    await transaction.changes();
    await pastTick();
    writeFileSync(join(workspace, "a.txt"), "host\n");
    const fork = await transaction.fork();
    await expect(fork.commit()).rejects.toMatchObject({ code: "ERR_TRANSACTION_CONFLICT" });
    expect(readFileSync(join(workspace, "a.txt"), "utf8")).toBe("host\n");
    await runner.close();
  });

  test("is refused with options that nobody knows, and after an end", async () => {
    const { transaction, runner } = await openTransaction(project());
    const given = [
      { counts: 2 },
      { count: 0 },
      { count: 1.5 },
      { count: "2" },
      { quiesce: 1 },
      null,
    ];
    for (const options of given) {
      await expect(transaction.fork(options as object)).rejects.toMatchObject({
        code: expect.stringMatching(/^ERR_(INVALID_ARG|OUT_OF_RANGE)/) as string,
      });
    }
    await transaction.close();
    await expect(transaction.fork()).rejects.toMatchObject({ code: "ERR_SANDBOX_CLOSED" });
    await runner.close();
  });

  test("of a host that is killed is whole, or is not there", async () => {
    const { transaction, workspace, runner, state } = await openTransaction(project());
    await run(
      transaction,
      "mkdir many; for i in $(seq 300); do echo $i > many/$i; done; rm gone.txt",
    );
    const seen = await opens(transaction);
    await transaction.close();
    let whole = 0;
    for (let round = 0; round < 6; round += 1) {
      const script = `
        const transaction = await runner.resumeTransaction(${JSON.stringify(transaction.id)}, options);
        await transaction.fork();
        begin();
        for (;;) await transaction.fork();`;
      await killedHost({ workspace, state }, script, round * 9);
      for (const { id, parent } of await runner.transactions({ directory: state })) {
        if (parent === undefined) continue;
        const fork = await runner.resumeTransaction(id, { directory: state });
        expect(await opens(fork)).toBe(seen);
        await fork.discard();
        whole += 1;
      }
    }
    expect(whole, "the control").toBeGreaterThan(0);
    const again = await runner.resumeTransaction(transaction.id, { directory: state });
    expect(await opens(again)).toBe(seen);
    await again.discard();
    expect(existsSync(join(workspace, "many"))).toBe(false);
    await runner.close();
  });
});
