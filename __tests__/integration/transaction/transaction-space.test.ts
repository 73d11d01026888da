/** What transactions hold on disk, and the bound of it: `transactions({ sizes })` and `maxTransactionBytes`. */

import { chmodSync, existsSync, linkSync, mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";

import { eventually } from "../../support/waits.js";
import { BubblewrapNativeRunner, type Transaction } from "../support/package.js";
import { isRoot } from "../support/requirements.js";
import { run } from "../support/results.js";
import { tempDirectory } from "../support/temp.js";
import { describeBackends } from "../support/transactions.js";

const kMiB = 1024 ** 2;
const kFull = { code: "ERR_TRANSACTION_FULL", name: "TransactionError" };
const made = (mebibytes: number, name = "big") => `head -c ${mebibytes}M /dev/urandom > ${name}`;

async function spaceOf(transaction: Transaction, runner: BubblewrapNativeRunner, state: string) {
  const listed = await runner.transactions({ directory: state, sizes: true });
  const space = listed.find(({ id }) => id === transaction.id)?.space;
  if (space === undefined) throw new Error("it has no space");
  return space;
}

/** Sees what is warned of while `work` is done. */
async function warningsOf(work: () => Promise<void>): Promise<(Error & { code?: string })[]> {
  const seen: (Error & { code?: string })[] = [];
  const see = (warning: Error) => void seen.push(warning);
  process.on("warning", see);
  try {
    await work();
    await new Promise((resolve) => setImmediate(resolve)); // it is emitted in the next turn
  } finally {
    process.off("warning", see);
  }
  return seen.filter(({ code }) => code === "OPENAGENTIC_TRANSACTION_SPACE");
}

describeBackends("what transactions hold", (open, backend) => {
  test("is told by its parts, and only if it is asked for", async () => {
    const { transaction, runner, state } = await open();
    expect((await runner.transactions({ directory: state }))[0]).not.toHaveProperty("space");
    const before = await spaceOf(transaction, runner, state);
    await run(transaction, `${made(3)}; head -c 2M /dev/urandom > ~/kept`);
    const after = await spaceOf(transaction, runner, state);
    expect(after.changesBytes - before.changesBytes).toBeGreaterThanOrEqual(3 * kMiB);
    expect(after.changesBytes - before.changesBytes).toBeLessThan(4 * kMiB);
    expect(after.homeBytes).toBeGreaterThanOrEqual(2 * kMiB);
    expect(after.homeBytes).toBeLessThan(3 * kMiB);
    await transaction.checkpoint();
    const kept = await spaceOf(transaction, runner, state);
    expect(kept.checkpointsBytes).toBeGreaterThanOrEqual(3 * kMiB);
    expect(kept.bytes - before.bytes).toBeGreaterThanOrEqual(8 * kMiB);
    // A sparse file holds nothing, and a second name of a file holds it once.
    await run(transaction, "truncate -s 1G sparse; ln big second");
    const more = await spaceOf(transaction, runner, state);
    expect(more.bytes - kept.bytes).toBeLessThan(kMiB);
    expect(more.sharedBytes).toBe(kept.sharedBytes);
  });

  test("what another one has too is told apart", async () => {
    const { transaction, runner, state } = await open();
    await run(transaction, made(2));
    const before = await spaceOf(transaction, runner, state);
    const fork = await transaction.fork();
    const tree = backend === "copy" ? "tree" : "upper";
    linkSync(join(state, transaction.id, tree, "big"), join(state, fork.id, "as-bases-are"));
    const after = await spaceOf(transaction, runner, state);
    expect(after.sharedBytes - before.sharedBytes).toBeGreaterThanOrEqual(2 * kMiB);
    expect(before.bytes - after.bytes).toBeGreaterThan(1.9 * kMiB);
    expect(after.changesBytes).toBe(before.changesBytes);
    await fork.discard();
    const again = await spaceOf(transaction, runner, state);
    expect(again.sharedBytes).toBe(before.sharedBytes);
    expect(again.bytes).toBeLessThan(before.bytes + 2.1 * kMiB); // with what both came from
  });

  test("is found however deep, and what keeps its owner out stays as it is", async () => {
    const { transaction, runner, state } = await open();
    const before = await spaceOf(transaction, runner, state);
    const deep = "for i in $(seq 60); do mkdir -p $n/$n && cd $n/$n; done";
    await run(transaction, `n=$(printf %0200d 0); (${deep}; ${made(2)}); mkdir shut`);
    await run(transaction, `${made(2, "shut/big")}; chmod 0 shut`);
    const after = await spaceOf(transaction, runner, state);
    const counted = isRoot ? 4 : 2; // another one can't look into what is shut
    expect(after.bytes - before.bytes).toBeGreaterThanOrEqual(counted * kMiB);
    expect(after.bytes - before.bytes).toBeLessThan((counted + 2) * kMiB);
    const seen = await run(transaction, "stat -c %a shut");
    expect(seen.out).toBe("0");
    const many = "for i in $(seq 300); do mkdir shut$i; touch shut$i/in; chmod 0 shut$i; done";
    await run(transaction, many);
    for (let round = 0; round < 10; round += 1) {
      await run(transaction, "touch new"); // what is looked at after it is no command's to see
      const [seen] = await Promise.all([
        run(transaction, "stat -c %a shut*/ | sort -u"),
        spaceOf(transaction, runner, state),
      ]);
      expect(seen.out).toBe("0");
    }
    await Promise.all([transaction.changes(), spaceOf(transaction, runner, state)]);
    await transaction.discard(); // which goes deeper than the test's own cleaning
  });
});

describeBackends("maxTransactionBytes", (open, backend) => {
  test("refuses what needs more, tells so before, and lets go again", async () => {
    const bound = { maxTransactionBytes: 10 * kMiB };
    const { transaction, runner, state, workspace } = await open(undefined, bound);
    const near = await warningsOf(async () => {
      await run(transaction, made(6));
      await expect(transaction.fork()).rejects.toMatchObject({
        ...kFull,
        message: expect.stringMatching(
          /hold 6(\.\d)? MiB, maxTransactionBytes allows 10 MiB, and this needs about 12(\.\d)? MiB more: commit or discard some; [0-9a-f]{12} holds the most$/,
        ),
      });
      await expect(transaction.checkpoint()).rejects.toMatchObject(kFull);
      expect((await run(transaction, "echo on")).out).toBe("on");
      await run(transaction, made(3, "more"));
      await expect(transaction.fork()).rejects.toMatchObject(kFull);
    });
    expect(near.map(({ name }) => name)).toEqual(["SandboxWarning"]); // once
    expect(near[0]?.message).toContain(`the transactions of ${workspace} hold 9`);
    expect(readdirSync(state).filter((name) => /^[0-9a-f]{12}$/.test(name))).toHaveLength(1);

    await run(transaction, made(2, "beyond"));
    const refused = await eventually("the next command is refused", () =>
      transaction.exec({ argv: ["true"] }).then(
        () => undefined,
        (error: unknown) => error,
      ),
    );
    expect(refused).toMatchObject(kFull);
    const other = new BubblewrapNativeRunner({ shadowDir: workspace, transaction, prewarm: 0 });
    await expect(transaction.openSession()).rejects.toMatchObject(kFull);
    await expect(transaction.spawn({ argv: ["true"] })).rejects.toMatchObject(kFull);
    await expect(other.exec({ argv: ["true"] })).rejects.toMatchObject(kFull);
    await expect(runner.openTransaction({ directory: state })).rejects.toMatchObject(kFull);
    // What is there can be looked at, taken out and made less.
    expect((await transaction.files.stat("beyond")).size).toBe(2 * kMiB);
    expect(await transaction.changes()).toHaveLength(3);
    await transaction.files.remove("more");
    writeFileSync(join(workspace, "host.txt"), "new"); // which an overlay shows, as ever
    expect((await run(transaction, "cat host.txt")).out).toBe(backend === "copy" ? "" : "new");
    expect((await run(transaction, "echo again")).out).toBe("again");
    await transaction.commit();
    expect(existsSync(join(workspace, "beyond"))).toBe(true);
    await other.close();
    await runner.close();
  });

  test("counts all of the workspace in the directory, and no other", async () => {
    const bound = { maxTransactionBytes: 10 * kMiB };
    const { transaction, state, runner, workspace } = await open(undefined, bound);
    const elsewhere = await new BubblewrapNativeRunner({
      shadowDir: tempDirectory(),
      prewarm: 0,
    }).openTransaction({ directory: state });
    await run(elsewhere, made(20));
    const free = new BubblewrapNativeRunner({ shadowDir: workspace, prewarm: 0 });
    const second = await free.openTransaction({ directory: state, backend: transaction.backend });
    const third = await runner.openTransaction({ directory: state, backend: transaction.backend });
    await third.discard();
    await run(second, made(11)); // the runner without a bound
    await expect(runner.openTransaction({ directory: state })).rejects.toMatchObject(kFull);
    await expect(transaction.fork()).rejects.toMatchObject({
      message: expect.stringContaining(`${second.id} holds the most`),
    });
    const resumed = transaction.id;
    await transaction.close();
    const again = await runner.resumeTransaction(resumed, { directory: state });
    await second.discard();
    await again.fork();
    for (const each of [free, runner]) await each.close();
  });

  test("a merge that there is no room for ends no runs", async () => {
    const bound = { maxTransactionBytes: 10 * kMiB };
    const { transaction, state, runner, workspace } = await open(undefined, bound);
    const free = new BubblewrapNativeRunner({ shadowDir: workspace, prewarm: 0 });
    const other = await free.openTransaction({ directory: state, backend: transaction.backend });
    await run(other, made(6));
    const live = await transaction.spawn({ argv: ["cat"] });
    await expect(transaction.merge(other)).rejects.toMatchObject(kFull);
    live.stdin.end(); // it runs on
    expect(await live.result).toMatchObject({ outcome: { kind: "exited" }, exitCode: 0 });
    await other.files.remove("big");
    await run(other, made(1));
    await transaction.merge(other); // the control
    expect((await transaction.files.stat("big")).size).toBe(kMiB);
    for (const each of [free, runner]) await each.close();
  });

  test.runIf(!isRoot)("what a directory hides that keeps its owner out has no room", async () => {
    const bound = { maxTransactionBytes: 10 * kMiB };
    const { transaction, runner } = await open(undefined, bound);
    await run(transaction, "mkdir shut");
    await transaction.checkpoint(); // the control
    await run(transaction, `${made(20, "shut/big")}; chmod 0 shut`);
    const refused = {
      code: "ERR_SANDBOX_SETUP",
      message: expect.stringContaining(
        `${transaction.id} has a directory that keeps its owner out`,
      ),
    };
    await expect(transaction.checkpoint()).rejects.toMatchObject(refused);
    await expect(transaction.exec({ argv: ["true"] })).rejects.toMatchObject(refused);
    await transaction.discard();
    await runner.close();
  });

  test.runIf(isRoot)("what can't be measured has no room", async () => {
    const bound = { maxTransactionBytes: 10 * kMiB };
    const { transaction, state, runner } = await open(undefined, bound);
    chmodSync(state, 0o777); // of a directory that others may write to nothing is taken
    await expect(transaction.fork()).rejects.toMatchObject({
      code: "ERR_SANDBOX_SETUP",
      message: expect.stringContaining("maxTransactionBytes can't be kept"),
    });
    chmodSync(state, 0o700);
    await transaction.fork();
    await runner.close();
  });

  test("a copy of a workspace that is larger than what is left is not made", async () => {
    const workspace = tempDirectory();
    mkdirSync(join(workspace, "in"));
    writeFileSync(join(workspace, "in", "big"), Buffer.alloc(8 * kMiB, 1));
    const runner = new BubblewrapNativeRunner({
      shadowDir: workspace,
      maxTransactionBytes: 5 * kMiB,
      prewarm: 0,
    });
    const directory = tempDirectory("state");
    await expect(runner.openTransaction({ directory, backend: "copy" })).rejects.toMatchObject({
      ...kFull,
      message: expect.stringContaining("a copy of the workspace needs more than is left"),
    });
    expect(readdirSync(directory)).toEqual([]);
    await runner.close();
  });
});
