/** Transactions on a worker: all that one of this machine does, and what is its own to a remote one. */

import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";

import { RemoteNativeRunner } from "../../../../lib/adapters/remote.js";
import { whole } from "../../support/live-processes.js";
import { TransactionError } from "../../support/package.js";
import { describeUnless, whyNoBubblewrap } from "../../support/requirements.js";
import { run, text } from "../../support/results.js";
import { tempDirectory } from "../../support/temp.js";
import { project } from "../../support/transactions.js";
import { type NatsServer, startNatsServer, whyNoNatsServer } from "../support/nats-server.js";
import { startWorker } from "../support/worker.js";

const kClosed = { code: "ERR_SANDBOX_CLOSED" };
const sh = (script: string) => ["sh", "-c", script];

describeUnless(whyNoNatsServer ?? whyNoBubblewrap, "a transaction on a worker", () => {
  let server: NatsServer;
  const made: RemoteNativeRunner[] = [];
  const runnerFor = (workspace: string, pool = "tests", queueTimeoutMs = 60_000) => {
    const servers = [server.url];
    const runner = new RemoteNativeRunner({
      servers,
      insecure: true,
      pool,
      workspace,
      queueTimeoutMs,
    });
    made.push(runner);
    return runner;
  };
  beforeAll(async () => {
    server = await startNatsServer();
    await startWorker({ server: server.url, name: "one" });
  }, 120_000);
  afterAll(async () => {
    await Promise.all(made.map((runner) => runner.close()));
  });

  test("keeps what commands change apart until it is committed", async () => {
    const workspace = project();
    const transaction = await runnerFor(workspace).openTransaction();
    const seen = await run(transaction, "echo two > a.txt; rm gone.txt; cat a.txt");
    expect(seen).toMatchObject({ exitCode: 0, out: "two" });
    expect(seen.result.audits[0]?.layers).toContain(`transaction:${transaction.backend}`);
    expect(readFileSync(join(workspace, "a.txt"), "utf8")).toBe("one\n");
    const changes = await transaction.changes({ details: true });
    expect(changes.map(({ path, kind }) => [path, kind])).toEqual([
      ["a.txt", "modified"],
      ["gone.txt", "deleted"],
    ]);
    if (transaction.backend === "overlay") expect(changes[0]?.changedAt).toBeInstanceOf(Date);
    expect(await transaction.diff()).toContain("-one\n+two\n");
    expect(await transaction.runs()).toMatchObject([
      { exitCode: 0, endedAt: expect.any(Date), audit: { argv: seen.result.audits[0]?.argv } },
    ]);
    const report = await transaction.commit({ expected: changes, approvedBy: "a test" });
    expect(report.committed.map(({ path }) => path)).toEqual(["a.txt", "gone.txt"]);
    expect(report.audit).toMatchObject({ action: "commit", outcome: "done", approvedBy: "a test" });
    expect(readFileSync(join(workspace, "a.txt"), "utf8")).toBe("two\n");
    expect(existsSync(join(workspace, "gone.txt"))).toBe(false);
    await transaction.undo();
    expect(readFileSync(join(workspace, "a.txt"), "utf8")).toBe("one\n");
    await transaction.discard();
    await expect(transaction.changes()).rejects.toMatchObject(kClosed);
    await expect(transaction.exec({ argv: ["true"] })).rejects.toMatchObject(kClosed);
  });

  test("has live processes, sessions and batches, which see each other's changes", async () => {
    const workspace = project();
    const transaction = await runnerFor(workspace).openTransaction();
    const live = await transaction.spawn({ argv: ["tee", "live"] });
    live.stdin.end("typed");
    expect(await whole(live.stdout)).toBe("typed");
    expect((await live.result).exitCode).toBe(0);
    const session = await transaction.openSession({ shell: true });
    await session.exec({ argv: ["bash", "-c", "A=kept; echo s > session"] });
    expect((await session.exec({ argv: ["bash", "-c", "echo $A"] })).stdoutText).toBe("kept\n");
    await session.close();
    const [first, second] = await transaction.execBatch([
      sh("cat live session"),
      { argv: ["cat"], stdin: "in" },
    ]);
    expect([first?.stdoutText, second?.stdoutText]).toEqual(["typeds\n", "in"]);
    expect(existsSync(join(workspace, "live"))).toBe(false);
    await transaction.discard();
  });

  test("tells conflicts as its own error", async () => {
    const workspace = project();
    const transaction = await runnerFor(workspace).openTransaction();
    await run(transaction, "echo mine > a.txt");
    writeFileSync(join(workspace, "a.txt"), "the host's\n");
    const error = await transaction.commit().catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(TransactionError);
    expect(error).toMatchObject({
      code: "ERR_TRANSACTION_CONFLICT",
      paths: ["a.txt"],
      conflicts: [{ path: "a.txt", conflict: true }],
    });
    expect(readFileSync(join(workspace, "a.txt"), "utf8")).toBe("the host's\n");
    await transaction.discard();
  });

  test("has checkpoints, and goes back to them", async () => {
    const transaction = await runnerFor(project()).openTransaction();
    await run(transaction, "echo 1 > new");
    const checkpoint = await transaction.checkpoint("before");
    expect(checkpoint).toMatchObject({ name: "before", createdAt: expect.any(Date) });
    await run(transaction, "echo 2 > new");
    expect(await transaction.checkpoints()).toEqual([checkpoint]);
    await transaction.rollback(checkpoint);
    expect((await run(transaction, "cat new")).out).toBe("1");
    await expect(transaction.rollback("000000000000")).rejects.toThrow(TypeError);
    await transaction.discard();
  });

  test("has files, of any bytes", async () => {
    const workspace = project();
    const { files, ...transaction } = await runnerFor(workspace)
      .openTransaction()
      .then((it) => ({ files: it.files, discard: () => it.discard() }));
    const bytes = new Uint8Array([0, 255, 128, 10]);
    await files.mkdir("d/e", { recursive: true });
    const { version } = await files.write("d/e/f", bytes);
    expect(await files.read("d/e/f")).toEqual(bytes);
    expect(await files.readText("a.txt")).toBe("one\n");
    expect(await files.stat("d/e/f")).toMatchObject({ type: "file", size: 4, version });
    await expect(files.write("d/e/f", "x", { ifUnchanged: null })).rejects.toMatchObject({
      code: "EEXIST",
    });
    await files.rename("d/e/f", "d/g");
    expect((await files.list("d", { recursive: true })).map(({ path }) => path)).toEqual([
      "d/e",
      "d/g",
    ]);
    await files.remove("d", { recursive: true });
    await expect(files.read("d/g")).rejects.toMatchObject({ code: "ENOENT" });
    const big = new Uint8Array(8 * 2 ** 20);
    await expect(files.write("big", big)).rejects.toThrow(RangeError);
    expect(existsSync(join(workspace, "d"))).toBe(false);
    await transaction.discard();
  });

  test("answers at any length", async () => {
    const transaction = await runnerFor(project()).openTransaction();
    await run(transaction, "seq 1 3000000 > long; head -c 9000000 /dev/zero > zeros");
    const diff = await transaction.diff({ maxBytes: 64 * 2 ** 20 });
    expect(diff.length).toBeGreaterThan(23_000_000);
    expect(diff).toContain("\n+3000000\n");
    expect((await transaction.files.read("zeros")).length).toBe(9_000_000);
    await expect(transaction.diff({ maxBytes: 1000 })).rejects.toThrow(RangeError);
    await transaction.discard();
  }, 120_000); // a diff of three million lines is computed there

  test("is closed where nothing is heard of its caller, says so, and is taken up again", async () => {
    const runner = runnerFor(project());
    const transaction = await runner.openTransaction();
    await run(transaction, "echo kept > new");
    const session = await runner.openSession();
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 8_000); // two leases
    const why = "heard nothing of its caller";
    const over = { ...kClosed, message: expect.stringContaining(why) };
    await expect(transaction.diff()).rejects.toMatchObject(over);
    expect(await session.ended).toContain(why);
    const again = await runner.resumeTransaction(transaction.id);
    expect((await run(again, "cat new")).out).toBe("kept");
    await again.discard();
  });

  test("is kept by close, and by its runner's, and taken up again", async () => {
    const workspace = project();
    const runner = runnerFor(workspace);
    const transaction = await runner.openTransaction({ backend: "copy" });
    const { id } = transaction;
    expect(id).toMatch(/^[0-9a-f]{12}@one$/);
    expect(transaction).toMatchObject({ backend: "copy", recovered: undefined });
    await run(transaction, "echo kept > new");
    await transaction.close();
    await expect(transaction.diff()).rejects.toMatchObject(kClosed);
    const again = await runnerFor(workspace).resumeTransaction(id);
    expect(again).toMatchObject({ id, backend: "copy" });
    expect((await run(again, "cat new")).out).toBe("kept");
    await again.close();
    const third = await runner.resumeTransaction(id);
    await runner.close();
    await expect(third.changes()).rejects.toMatchObject(kClosed);
    const other = runnerFor(workspace);
    const listed = await other.transactions();
    expect(listed).toMatchObject([{ id, workspace, state: "closed", createdAt: expect.any(Date) }]);
    // Another workspace's are not told, and can't be had.
    const elsewhere = runnerFor(project());
    expect(await elsewhere.transactions()).toEqual([]);
    await expect(elsewhere.resumeTransaction(id)).rejects.toThrow(TypeError);
    await (await other.resumeTransaction(id)).discard();
    expect(await other.transactions()).toEqual([]);
    expect(existsSync(join(workspace, "new"))).toBe(false);
  });

  test("refuses what is the worker's, or can't travel", async () => {
    const runner = runnerFor(project());
    const wrong = [{ directory: "/tmp/x" }, { onProgress: () => {} }, { backnd: "copy" }];
    for (const options of wrong) {
      const [name = ""] = Object.keys(options);
      await expect(runner.openTransaction(options as object)).rejects.toThrow(name);
    }
    await expect(runner.resumeTransaction("0123456789ab")).rejects.toThrow("ID@WORKER");
    await expect(runner.openTransaction({ backend: "x" as "copy" })).rejects.toThrow("backend");
    await expect(runnerFor(join(tempDirectory(), "none")).openTransaction()).rejects.toMatchObject({
      code: "ERR_SANDBOX_SETUP",
    });
    const aborted = runner.openTransaction({ signal: AbortSignal.abort(new Error("enough")) });
    await expect(aborted).rejects.toThrow("enough");
    const transaction = await runner.openTransaction();
    expect(() => transaction.metrics()).toThrow("metrics");
    expect(await transaction.explain({ argv: ["true"] })).toMatchObject({
      layers: expect.any(Array),
    });
    await transaction.discard();
  });

  test("holds a slot while it is open, and what runs in it takes none", async () => {
    await startWorker({ server: server.url, pool: "narrow", name: "narrow", slots: 1 });
    const workspace = project();
    const transaction = await runnerFor(workspace, "narrow").openTransaction();
    const both = await Promise.all([run(transaction, "sleep 0.2"), run(transaction, "sleep 0.2")]);
    expect(both.map(({ kind }) => kind)).toEqual(["exited", "exited"]);
    const waiting = run(runnerFor(workspace, "narrow", 500), "true");
    expect(await waiting).toMatchObject({ kind: "queue-timeout", exitCode: 125 });
    await transaction.close();
    expect((await run(runnerFor(workspace, "narrow"), "true")).kind).toBe("exited");
  });

  test("is taken up on the worker that has it, of several", async () => {
    const workers = ["a", "b", "c"].map((name) =>
      startWorker({ server: server.url, pool: "several", name }),
    );
    await Promise.all(workers);
    const workspace = project();
    const opened = [];
    for (let made = 0; made < 6; made += 1) {
      const transaction = await runnerFor(workspace, "several").openTransaction();
      await run(transaction, `echo ${made} > new`);
      opened.push(transaction.id);
      await transaction.close();
    }
    const runner = runnerFor(workspace, "several");
    const seen = opened.map(async (id) => {
      const transaction = await runner.resumeTransaction(id);
      const { out } = await run(transaction, "cat new");
      await transaction.discard();
      return out;
    });
    expect(await Promise.all(seen)).toEqual(["0", "1", "2", "3", "4", "5"]);
  });

  test("of a worker that was killed is lost, and can be taken up when that is back", async () => {
    const options = { server: server.url, pool: "mortal", name: "mortal" };
    const env = { XDG_STATE_HOME: tempDirectory("state") };
    const worker = await startWorker({ ...options, env });
    const workspace = project();
    const transaction = await runnerFor(workspace, "mortal").openTransaction();
    await run(transaction, "echo survives > new");
    await worker.stop("SIGKILL");
    await expect(transaction.changes()).rejects.toMatchObject({
      ...kClosed,
      message: expect.stringContaining("lost"),
    });
    await startWorker({ ...options, env });
    const again = await runnerFor(workspace, "mortal").resumeTransaction(transaction.id);
    expect(text((await again.exec({ argv: ["cat", "new"] })).stdout)).toBe("survives\n");
    await again.discard();
  });
});
