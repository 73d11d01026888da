/** Branches of a transaction on a worker: what those of this machine do, each with a slot of its own. */

import { once } from "node:events";
import { existsSync, mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { afterAll, beforeAll, expect, test } from "vitest";

import { RemoteNativeRunner } from "../../../../lib/adapters/remote.js";
import { eventually, kQuietMs } from "../../../support/waits.js";
import {
  BubblewrapNativeRunner,
  type Transaction,
  TransactionError,
} from "../../support/package.js";
import { describeUnless, whyNoBubblewrap } from "../../support/requirements.js";
import { run } from "../../support/results.js";
import { tempDirectory } from "../../support/temp.js";
import { project } from "../../support/transactions.js";
import { type NatsServer, startNatsServer, whyNoNatsServer } from "../support/nats-server.js";
import { startWorker } from "../support/worker.js";
import { HandCaller } from "../wire/hand-caller.js";

const kClosed = { code: "ERR_SANDBOX_CLOSED" };
const kUnavailable = { code: "ERR_SANDBOX_UNAVAILABLE" };

describeUnless(whyNoNatsServer ?? whyNoBubblewrap, "a branch on a worker", () => {
  let server: NatsServer;
  const made: { close(): Promise<void> }[] = [];
  type Choice = { pool?: string; queueTimeoutMs?: number; tenant?: string };
  const runnerFor = (workspace: string, { pool = "tests", ...rest }: Choice = {}) => {
    const servers = [server.url];
    const options = { servers, insecure: true, pool, workspace, ...rest };
    const runner = new RemoteNativeRunner(options);
    made.push(runner);
    return runner;
  };
  const open = (choice?: Choice) => runnerFor(project(), choice).openTransaction();
  const ids = async (runner: RemoteNativeRunner) =>
    (await runner.transactions()).map(({ id }) => id).sort();
  /** Transactions of one runner on disk, as many as there should be. */
  const remain = (runner: RemoteNativeRunner, expected: readonly Transaction[]) =>
    eventually("no other transaction is left", async () => {
      const listed = await ids(runner);
      return JSON.stringify(listed) === JSON.stringify(expected.map(({ id }) => id).sort());
    });

  beforeAll(async () => {
    server = await startNatsServer();
    await startWorker({ server: server.url, name: "first" });
  }, 120_000);
  afterAll(async () => {
    await Promise.all(made.map((runner) => runner.close()));
  });

  test("begins as its parent is, goes on apart, is compared, merged and adopted", async () => {
    const workspace = project();
    const runner = runnerFor(workspace);
    const main = await runner.openTransaction();
    await run(main, "printf '1\\n2\\n3\\n4\\n5\\n' > steps");
    const [one, other] = (await main.fork({ count: 2 })) as [Transaction, Transaction];
    expect(one.id).toMatch(/^[0-9a-f]{12}@first$/);
    expect(main.parent).toBeUndefined();
    expect([one.parent, other.parent]).toEqual([main.id, main.id]);
    expect(one.backend).toBe(main.backend);
    await run(one, "sed -i s/2/two/ steps");
    await run(other, "sed -i s/4/four/ steps; echo new > extra");
    expect((await run(main, "cat steps")).out).toBe("1\n2\n3\n4\n5");

    const changes = await other.changes({ since: one });
    expect(changes.map(({ kind, path }) => [kind, path])).toEqual([
      ["added", "extra"],
      ["modified", "steps"],
    ]);
    expect(await other.changes({ since: one, paths: ["extra"] })).toHaveLength(1);
    expect(await other.diff({ sinceFork: one, paths: ["steps"] })).not.toContain("two");
    await expect(other.changes({ since: one, sinceFork: one })).rejects.toThrow("got both");
    expect(await other.diff({ since: one, paths: ["steps"] })).toContain("-two\n+2\n");
    expect(await main.adopt(one)).toMatchObject({
      merged: ["steps"],
      conflicts: [],
      audit: { action: "adopt", outcome: "done", merged: 1 },
    });
    expect((await main.merge(other)).merged).toEqual(["extra", "steps"]);
    expect((await run(main, "cat steps extra")).out).toBe("1\ntwo\n3\nfour\n5\nnew");
    expect((await run(one, "cat steps")).out).toBe("1\ntwo\n3\n4\n5");

    // One of a fork; each is committed by itself, and one is resumed.
    const deep = await one.fork();
    expect(deep.parent).toBe(one.id);
    await deep.close();
    const again = await runner.resumeTransaction(deep.id);
    expect(again.parent).toBe(one.id);
    const listed = await runner.transactions();
    expect(listed.find(({ id }) => id === again.id)?.parent).toBe(one.id);
    expect(existsSync(join(workspace, "steps"))).toBe(false);
    await main.commit();
    expect(readFileSync(join(workspace, "steps"), "utf8")).toBe("1\ntwo\n3\nfour\n5\n");
    await Promise.all([main, one, other, again].map((each) => each.discard()));
    expect(await ids(runner)).toEqual([]);
  });

  test("tells conflicts of a merge with their reasons, and decides them as it is told", async () => {
    const main = await open();
    const fork = await main.fork();
    await run(main, "echo main > a.txt");
    await run(fork, "echo fork > a.txt; echo x > more");
    const error = await main.merge(fork).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(TransactionError);
    expect(error).toMatchObject({
      code: "ERR_TRANSACTION_CONFLICT",
      paths: ["a.txt"],
      reasons: [{ path: "a.txt", reason: expect.stringContaining("line 1") }],
    });
    expect((await run(main, "cat a.txt; ls more || :")).out).toBe("main");
    const report = await main.merge(fork, { onConflict: "theirs", paths: ["a.txt"] });
    expect(report).toMatchObject({ merged: ["a.txt"], conflicts: [{ path: "a.txt" }] });
    expect((await run(main, "cat a.txt; ls more || :")).out).toBe("fork");
    await Promise.all([main.discard(), fork.discard()]);
  });

  test("is made while commands go on, or waits until none does", async () => {
    const main = await open();
    const running = await main.spawn({ argv: ["sh", "-c", "echo; read line; echo end > end"] });
    await once(running.stdout, "data");
    const early = await main.fork();
    expect((await run(early, "ls end || :")).out).toBe("");
    let isForked = false;
    const late = main.fork({ quiesce: true, count: 1 }).then((forks) => {
      isForked = true;
      return forks[0] as Transaction;
    });
    await delay(kQuietMs);
    expect(isForked).toBe(false);
    running.stdin.end("\n");
    expect((await running.result).exitCode).toBe(0);
    expect((await run(await late, "cat end")).out).toBe("end");
    await Promise.all([main, early, await late].map((each) => each.discard()));
  });

  test("has sessions that begin as those of its parent, on the same worker alone", async () => {
    const main = await open();
    const session = await main.openSession({ shell: true });
    const bash = (script: string) => ["bash", "-c", script];
    await session.exec({ argv: bash("mkdir d; cd d; A=kept; greet() { echo hello $A; }") });
    const fork = await main.fork();
    const its = await fork.openSession({ from: session });
    const { stdoutText } = await its.exec({ argv: bash("pwd; greet; echo x > file") });
    expect(stdoutText).toBe("/workspace/d\nhello kept\n");
    expect(await fork.files.readText("d/file")).toBe("x\n");
    await expect(main.openSession({ from: its })).rejects.toThrow("same runner");
    const pool = "apart";
    await startWorker({ server: server.url, pool, name: "apart" });
    const far = await open({ pool });
    await expect(far.openSession({ from: session })).rejects.toThrow(/`from`.*worker apart.*first/);
    await session.close();
    await expect(fork.openSession({ from: session })).rejects.toMatchObject(kClosed);
    await Promise.all([main, fork, far].map((each) => each.discard()));
  });

  test("refuses what a fork of this machine refuses, with the same words", async () => {
    const main = await open();
    for (const options of [{ count: 0 }, { count: 101 }, { count: 1.5 }]) {
      await expect(main.fork(options)).rejects.toThrow(RangeError);
    }
    await expect(main.fork({ quiesce: 1 as unknown as boolean })).rejects.toThrow("quiesce");
    await expect(main.fork({ cuont: 1 } as object)).rejects.toThrow("count");
    const fork = await main.fork();
    await expect(main.merge(fork, { onConflict: "x" as "ours" })).rejects.toThrow("onConflict");
    await expect(main.merge(fork, { paths: ["../x"] })).rejects.toThrow("../x");
    await expect(main.merge({} as Transaction)).rejects.toThrow("from");
    await expect(main.changes({ since: 7 as unknown as Transaction })).rejects.toThrow("since");
    await expect(main.changes({ since: fork, details: true })).rejects.toThrow("details");
    await fork.close();
    await expect(main.merge(fork)).rejects.toMatchObject({
      ...kClosed,
      message: expect.stringContaining(fork.id),
    });
    await main.close();
    await expect(main.fork()).rejects.toMatchObject(kClosed);
    await expect(main.adopt(fork)).rejects.toMatchObject(kClosed);
  });

  test("is not merged with one of another worker, of this machine or of another workspace", async () => {
    await startWorker({ server: server.url, pool: "elsewhere", name: "second" });
    const workspace = project();
    const main = await runnerFor(workspace).openTransaction();
    const beside = await runnerFor(workspace).openTransaction();
    await run(beside, "echo beside > new");
    expect((await main.adopt(beside)).merged).toEqual(["new"]); // the control
    const far = await runnerFor(workspace, { pool: "elsewhere" }).openTransaction();
    const local = new BubblewrapNativeRunner({ shadowDir: workspace, prewarm: 0 });
    made.push(local);
    const here = await local.openTransaction({ directory: tempDirectory("state") });
    await expect(main.merge(far)).rejects.toThrow(
      /`from`.* on the worker first\..* got .*second\./,
    );
    await expect(far.changes({ since: main })).rejects.toThrow(
      /`since`.*worker second.*got .*first\./,
    );
    await expect(main.adopt(here)).rejects.toThrow(/`from`.*worker first.*of this machine/);
    await expect(here.merge(main)).rejects.toThrow(/`from`.*of this machine, got .*worker first/);
    await expect(here.diff({ since: main })).rejects.toThrow(/`since`.*of this machine/);
    const apart = await open();
    await expect(main.merge(apart)).rejects.toThrow("workspace");
    await Promise.all([main, beside, far, here, apart].map((each) => each.discard()));
  });

  test("holds a slot of its own, and passes neither the worker's nor its tenant's", async () => {
    const root = tempDirectory();
    const policy = { tenants: { three: { slots: 3 } } };
    const pool = "narrow";
    await startWorker({ server: server.url, pool, slots: 5, workspaces: root, policy });
    const placeOf = (tenant: string) => {
      mkdirSync(join(root, tenant), { recursive: true });
      return tempDirectory("slots", join(root, tenant));
    };
    const runner = runnerFor(placeOf("three"), { pool, tenant: "three", queueTimeoutMs: 1_500 });
    const main = await runner.openTransaction();
    // Never to be had: told at once.
    await expect(main.fork({ count: 3 })).rejects.toThrow(/`count`.* at most 2: .* 3 slots; got 3/);
    const first = await main.fork();
    // One slot is left, which the other fork has meanwhile: none is made.
    await expect(main.fork({ count: 2 })).rejects.toMatchObject({
      ...kUnavailable,
      message: expect.stringMatching(/could not be forked.* had a free slot within 1500 ms/),
    });
    await remain(runner, [main, first]);
    const second = await main.fork();
    await expect(runner.openTransaction()).rejects.toMatchObject(kUnavailable); // as an open is
    expect(await run(first, "true")).toMatchObject({ kind: "exited", exitCode: 0 });
    // Another tenant has the worker's other two, and no more.
    const others = runnerFor(placeOf("many"), { pool, tenant: "many", queueTimeoutMs: 1_500 });
    const theirs = await others.openTransaction();
    const fork = await theirs.fork();
    await expect(theirs.fork()).rejects.toMatchObject(kUnavailable);
    // What is given back can be had again.
    await second.close();
    await theirs.discard();
    await (await fork.fork()).discard();
    await (await first.fork()).discard();
    await Promise.all([fork, main, first].map((each) => each.discard()));
  });

  /** Slots of a worker that {@link waiting} has to itself. */
  const kWaiting = { slots: 4 };

  /**
   * A transaction with a fork, and with two that wait, with their slots, until a command ends that runs on. They have all
   * slots of their pool then.
   */
  const waiting = async (pool: string, workspace = project()) => {
    const runner = runnerFor(workspace, { pool });
    const main = await runner.openTransaction();
    const running = await main.spawn({ argv: ["sh", "-c", "echo kept > kept; echo; read line"] });
    await once(running.stdout, "data");
    const early = await main.fork();
    const settled = main.fork({ count: 2, quiesce: true }).then(
      (forks) => ({ forks, error: undefined }),
      (error: unknown) => ({ forks: [], error }),
    );
    const probe = runnerFor(workspace, { pool, queueTimeoutMs: 200 });
    await eventually("all slots are held", async () => (await run(probe, ":")).exitCode === 125);
    return { runner, main, early, running, settled, workspace };
  };

  test("that waits is given up with its transaction, or its runner, and leaves nothing", async () => {
    const pool = "given-up";
    await startWorker({ server: server.url, pool, ...kWaiting });
    const { runner, main, early, settled, running, workspace } = await waiting(pool);
    await main.close();
    expect((await settled).error).toMatchObject(kClosed);
    await running.result;
    await remain(runner, [main, early]);
    await early.discard();
    const again = await waiting(pool, workspace); // all slots can be had
    await again.runner.close();
    expect((await again.settled).error).toMatchObject(kClosed);
    const other = runnerFor(workspace, { pool });
    const left = [main, again.main, again.early];
    await remain(other, left);
    for (const { id } of left) await (await other.resumeTransaction(id)).discard();
  });

  test("that waits, or is there, ends with its caller's lease, and what was there is kept", async () => {
    const pool = "leased";
    await startWorker({ server: server.url, pool, ...kWaiting });
    const { runner, main, early, settled } = await waiting(pool);
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 8_000); // two leases
    const over = { ...kClosed, message: expect.stringContaining("heard nothing of its caller") };
    expect((await settled).error).toMatchObject(over);
    await expect(early.changes()).rejects.toMatchObject(over);
    await remain(runner, [main, early]);
    const again = await runner.resumeTransaction(early.id);
    expect(again.parent).toBe(main.id);
    expect((await run(again, "cat kept")).out).toBe("kept");
    await again.discard();
    await (await runner.resumeTransaction(main.id)).discard();
  });

  test("is lost with its worker; one that was there can be taken up, none is left half made", async () => {
    const options = { server: server.url, pool: "mortal", name: "mortal-too", ...kWaiting };
    const env = { XDG_STATE_HOME: tempDirectory("state") };
    const worker = await startWorker({ ...options, env });
    const { runner, main, early, settled } = await waiting("mortal");
    await run(early, "echo survives > new");
    await worker.stop("SIGKILL");
    const lost = { ...kClosed, message: expect.stringContaining("lost") };
    expect((await settled).error).toMatchObject(lost);
    await expect(early.changes()).rejects.toMatchObject(lost);
    await expect(early.fork()).rejects.toMatchObject(kClosed);
    await startWorker({ ...options, env });
    await remain(runner, [main, early]);
    const again = await runner.resumeTransaction(early.id);
    expect((await run(again, "cat new kept")).out).toBe("survives\nkept");
    const parent = await runner.resumeTransaction(main.id);
    await expect(parent.merge(early)).rejects.toThrow(/on the worker mortal-too\..* got one on/);
    expect((await parent.merge(again)).merged).toEqual(["new"]);
    await Promise.all([again, parent].map((each) => each.discard()));
  });

  test("is made on a worker that drains if it has its slot, and refused if it has none", async () => {
    const worker = await startWorker({ server: server.url, pool: "drained", ...kWaiting });
    const { main, early, settled, running } = await waiting("drained");
    worker.kill("SIGTERM");
    await eventually("it drains", () => worker.log().includes("no more runs"));
    await expect(main.fork()).rejects.toMatchObject({
      ...kUnavailable,
      message: expect.stringContaining("is being shut down"),
    });
    running.stdin.end("\n");
    expect((await running.result).exitCode).toBe(0);
    const { forks, error } = await settled;
    expect(error).toBeUndefined();
    expect((await run(forks[1] as Transaction, "cat kept")).out).toBe("kept");
    await Promise.all([main, early, ...forks].map((each) => each.discard()));
    expect(await worker.stop()).toBe(0);
  });

  test("is refused to a caller that lies, or names what is not its own", async () => {
    const pool = "hostile";
    await startWorker({ server: server.url, pool, name: "hostile", slots: 8 });
    const workspace = project();
    const theirs = await runnerFor(workspace, { pool }).openTransaction();
    const hand = await HandCaller.open(server.url);
    const other = await HandCaller.open(server.url);
    try {
      const { worker, lease } = await hand.invited(4, pool);
      const start = (run: number, input: unknown, its = {}) =>
        hand.say(
          worker,
          hand.grant(run, 1, { lease, kind: "transaction", workspace, input, ...its }),
        );
      const begun = (run: number) =>
        eventually(`${run} begins`, () => hand.all("began").find((each) => each.run === run));
      const ended = async (run: number) =>
        (await eventually(`${run} ends`, () => hand.all("end").find((each) => each.run === run)))
          .error;
      start(1, { way: "open", options: {} });
      await begun(1);
      const wrong: [unknown, string][] = [
        [{ way: "fork" }, "of"],
        [{ way: "fork", of: 1e300 }, "of"],
        [{ way: "fork", of: [1] }, "of"],
        [{ way: "fork", of: 77 }, "has ended"],
        [{ way: "split" }, "way"],
        [{ way: "resume", id: "../../x", options: {} }, "id"],
      ];
      for (const [at, [input, said]] of wrong.entries()) {
        start(10 + at, input);
        expect((await ended(10 + at))?.message).toContain(said);
      }
      start(20, { way: "fork", of: 1 }, { workspace: project() });
      expect((await ended(20))?.message).toContain("workspace");
      start(30, { way: "fork", of: 1 });
      await begun(30);
      let calls = 0;
      const call = async (run: number, operation: string, args: unknown[]) => {
        calls += 1;
        const own = calls;
        const numbered = { seq: own, ack: 0 };
        hand.say(worker, {
          t: "call",
          caller: hand.id,
          run,
          ...numbered,
          call: own,
          operation,
          args,
        });
        return eventually("answered", () => hand.all("answer").find((each) => each.call === own));
      };
      for (const runs of [[], [30, 30], [1], [31], "30", [30, 1.5], Array(101).fill(30)]) {
        expect((await call(1, "fork", [runs, false])).error, JSON.stringify(runs)).toBeDefined();
      }
      for (const count of [0, 101, 8, "1", null]) {
        expect((await call(1, "expectForks", [count])).error?.message).toContain("count");
      }
      expect((await call(1, "merge", [1e9, {}])).value).toEqual({ whole: { otherEnded: true } });
      expect((await call(1, "merge", ["1", {}])).error?.message).toContain("from");
      expect((await call(1, "changes", [{ since: {} }])).error?.message).toContain("since");
      const forked = (await call(1, "fork", [[30], false])) as { value?: { whole?: unknown } };
      expect(forked.value?.whole).toMatchObject([{ id: expect.any(String) }]); // the control
      expect((await call(1, "fork", [[30], false])).error).toBeDefined(); // it has its transaction
      // Another caller has no run of these numbers.
      const invited = await other.invited(1, pool);
      const input = { way: "fork", of: 1 };
      const its = { lease: invited.lease, kind: "transaction", workspace, input } as const;
      other.say(worker, other.grant(1_000, 1, its));
      const end = await eventually("refused", () => other.all("end")[0]);
      expect(end.error).toMatchObject(kClosed);
      expect(await theirs.changes()).toEqual([]); // and the worker goes on
    } finally {
      await Promise.all([hand.close(), other.close()]);
    }
    await theirs.discard();
  });
});
