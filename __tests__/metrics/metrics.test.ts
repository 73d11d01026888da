/** What a runner adds up, and what it publishes, run by run; the addon's part is a stand-in. */

import { AsyncLocalStorage } from "node:async_hooks";
import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";

import type { RunnerMetrics, SandboxedAuditRecord, SandboxedExecResult } from "../../lib/index.js";
import { BubblewrapNativeRunner, SandboxError } from "../../lib/index.js";
import { type FakeAddon, nativeError, result } from "../support/fake-addon.js";
import { freshAddon, withoutAddon } from "../support/fake-native.js";

vi.mock(import("../../lib/native.js"), async (importOriginal) => {
  const { fakeNative } = await import("../support/fake-native.js");
  return fakeNative(await importOriginal());
});

let fake: FakeAddon;
beforeEach(() => {
  fake = freshAddon();
});

const makeRunner = () => new BubblewrapNativeRunner({ shadowDir: "/w" });

/** A result with another audit. */
function resultWith(
  audit: Partial<SandboxedAuditRecord>,
  changes: Partial<SandboxedExecResult> = {},
): SandboxedExecResult {
  const plain = result(changes);
  return { ...plain, audits: plain.audits.map((each) => ({ ...each, ...audit })) };
}

describe("metrics", () => {
  const none = { count: 0, meanMs: 0, maxMs: 0, p50Ms: 0, p95Ms: 0, p99Ms: 0 };

  it("are all there from the beginning", () => {
    const metrics = makeRunner().metrics();
    expect(metrics).toEqual({
      runs: {
        pending: 0,
        rejected: 0,
        prewarmed: 0,
        cloned: 0,
        outcomes: {
          exited: 0,
          signaled: 0,
          "timed-out": 0,
          aborted: 0,
          "not-found": 0,
          "not-executable": 0,
          "setup-failed": 0,
          "limit-exceeded": 0,
          "lease-expired": 0,
          lost: 0,
          "queue-timeout": 0,
        },
      },
      phases: { queue: none, setup: none, command: none, teardown: none, total: none },
      pool: fake.poolState,
      bytes: { stdout: { kept: 0, dropped: 0 }, stderr: { kept: 0, dropped: 0 } },
      kills: { requested: 0, proved: 0 },
      transactions: {
        open: 0,
        opened: 0,
        forks: 0,
        merges: 0,
        adoptions: 0,
        commits: 0,
        undos: 0,
        checkpoints: 0,
        rollbacks: 0,
        discards: 0,
        conflicts: 0,
        protected: 0,
        unexpected: 0,
        failed: 0,
        paths: 0,
        bytes: 0,
      },
      network: {
        ...{ allowed: 0, denied: 0, omitted: 0, byRule: {} },
        requests: { allowed: 0, refused: 0, misused: 0 },
        forwards: { connections: 0, refused: 0, failed: 0, bytesOut: 0, bytesIn: 0 },
      },
    } satisfies RunnerMetrics);
    expect(JSON.parse(JSON.stringify(metrics))).toEqual(metrics);
  });

  it("count each run once, by its outcome", async () => {
    const runner = makeRunner();
    const runs = [0, 1, 2].map(() => runner.exec({ argv: ["a"] }));
    expect(runner.metrics().runs).toMatchObject({ pending: 3, rejected: 0 });
    fake.run(1).resolve(result());
    await runs[1];
    expect(runner.metrics().runs).toMatchObject({ pending: 2, outcomes: { exited: 1 } });
    fake.run(0).resolve(result({ outcome: { kind: "timed-out" }, exitCode: 124 }));
    fake.run(2).resolve(result({ outcome: { kind: "exited" } }));
    await Promise.all(runs);
    expect(runner.metrics().runs).toMatchObject({
      pending: 0,
      outcomes: { exited: 2, "timed-out": 1 },
    });
  });

  it("add up bytes and kills, and the parts of the time", async () => {
    const runner = makeRunner();
    const runs = [0, 1, 2].map(() => runner.exec({ argv: ["a"] }));
    const timing = { queueMs: 1, setupMs: 4, commandMs: 10, teardownMs: 2 };
    const aborted = { queueMs: 3, setupMs: 0, commandMs: 0, teardownMs: 0 };
    const output = { stdout: new Uint8Array(10), stdoutBytes: 15, stderrBytes: 3 };
    fake.run(0).resolve(resultWith({ timing, kill: "proved", start: "prewarmed" }, output));
    fake.run(1).resolve(resultWith({ timing, kill: "unproved", start: "cloned" }, output));
    fake.run(2).resolve(resultWith({ timing: aborted }, { outcome: { kind: "aborted" } }));
    await Promise.all(runs);
    const { runs: counts, phases, bytes, kills } = runner.metrics();
    expect(counts).toMatchObject({ prewarmed: 1, cloned: 1 });
    expect(kills).toEqual({ requested: 2, proved: 1 });
    expect(bytes).toEqual({ stdout: { kept: 20, dropped: 10 }, stderr: { kept: 0, dropped: 6 } });
    expect(phases).toMatchObject({
      queue: { count: 3, maxMs: 3 },
      setup: { count: 2, meanMs: 4 },
      command: { count: 2, meanMs: 10 },
      teardown: { count: 2, meanMs: 2 },
      total: { count: 3, maxMs: 17 },
    });
  });

  it("count what rejects, before a run is accepted and after", async () => {
    const runner = makeRunner();
    fake.refusal = new TypeError("argv");
    await expect(runner.exec({ argv: [] })).rejects.toThrow("argv");
    const accepted = runner.exec({ argv: ["a"] });
    fake.run(0).reject(nativeError("no bwrap", "ERR_SANDBOX_UNAVAILABLE"));
    await expect(accepted).rejects.toThrow("no bwrap");
    await expect(runner.exec({ argv: ["a"], signal: 1 as never })).rejects.toThrow("signal");
    expect(runner.metrics().runs).toMatchObject({ pending: 0, rejected: 3 });
  });

  it("count a run whose callback threw by its outcome", async () => {
    const runner = makeRunner();
    const onStdout = () => {
      throw new Error("mine");
    };
    const done = runner.exec({ argv: ["a"], onStdout });
    fake.run(0).request.onStdout?.(new Uint8Array(1));
    fake.run(0).resolve(result({ outcome: { kind: "aborted" }, exitCode: 130 }));
    await expect(done).rejects.toThrow("mine");
    expect(runner.metrics().runs).toMatchObject({ rejected: 0, outcomes: { aborted: 1 } });
  });

  it("are there without an addon", async () => {
    withoutAddon();
    const runner = makeRunner();
    await expect(runner.exec({ argv: ["a"] })).rejects.toThrow("no addon");
    expect(runner.metrics().runs.rejected).toBe(1);
    expect(runner.metrics().pool).toEqual({ standing: 0, taken: 0, missed: 0, discarded: 0 });
  });

  it("are a copy", () => {
    const runner = makeRunner();
    runner.metrics().kills.requested = 9;
    runner.metrics().runs.outcomes.exited = 9;
    expect(runner.metrics().kills.requested + runner.metrics().runs.outcomes.exited).toBe(0);
  });
});

describe("the channels", () => {
  const heard: [string, Record<string, unknown>][] = [];
  const undo: (() => void)[] = [];
  function listen(event: string): void {
    const name = `@openagentic/native-runner:${event}`;
    const subscriber = (message: unknown) => {
      heard.push([event, message as Record<string, unknown>]);
    };
    subscribe(name, subscriber);
    undo.push(() => unsubscribe(name, subscriber));
  }
  afterEach(() => {
    for (const each of undo.splice(0)) each();
    heard.length = 0;
  });

  it("tell of a run: its start, its end with the record, its pool", async () => {
    for (const event of ["run.start", "run.end", "pool"]) listen(event);
    const runner = makeRunner();
    const argv = ["cat", "file"];
    const env = { KEY: "hush-1" };
    const stdin = new Uint8Array(Buffer.from("hush-2"));
    const done = runner.exec({ argv, cwd: "sub", env, stdin });
    expect(heard).toEqual([["run.start", expect.objectContaining({ run: 0, argv, cwd: "sub" })]]);
    fake.run(0).resolve(result({ stdout: Buffer.from("hush-3"), stdoutBytes: 100 }));
    const { audits } = await done;
    const [start, end, pool] = heard.map(([, message]) => message);
    expect(heard.map(([event]) => event)).toEqual(["run.start", "run.end", "pool"]);
    expect(end).toMatchObject({
      run: 0,
      runner: start?.runner,
      policyHash: start?.policyHash,
      bytes: { stdout: { kept: 6, dropped: 94 } },
    });
    expect(end?.audit).toBe(audits[0]);
    expect(pool).toEqual({ runner: start?.runner, pool: fake.poolState });
    expect(start?.policyHash).toMatch(/^[0-9a-f]{64}$/);
    expect(JSON.stringify(heard)).not.toContain("hush");
    expect(start?.argv).not.toBe(argv);
  });

  it("tell runs and runners apart", async () => {
    listen("run.start");
    const [one, other] = [makeRunner(), makeRunner()];
    for (const runner of [one, other, one]) void runner.exec({ argv: ["a"] });
    const [first, second, third] = heard.map(([, message]) => message);
    expect(first?.runner).not.toBe(second?.runner);
    expect(third?.runner).toBe(first?.runner);
    expect(heard.map(([, message]) => message.run)).toEqual([0, 1, 2]);
  });

  it("tell of a run that has no outcome by its error", async () => {
    listen("run.end");
    const done = makeRunner().exec({ argv: ["a"] });
    fake.run(0).reject(nativeError("no bwrap", "ERR_SANDBOX_UNAVAILABLE", "install it"));
    await expect(done).rejects.toThrow(SandboxError);
    expect(heard).toHaveLength(1);
    expect(heard[0]?.[1]).not.toHaveProperty("audit");
    expect(heard[0]?.[1].error).toMatchObject({ name: "SandboxError", fix: "install it" });
  });

  it("say nothing of a call that was never a run", async () => {
    for (const event of ["run.start", "run.end"]) listen(event);
    const runner = makeRunner();
    fake.refusal = new TypeError("argv");
    await expect(runner.exec({ argv: [] })).rejects.toThrow("argv");
    expect(heard).toEqual([]);
  });

  it("tell of a pool only when it has changed", async () => {
    listen("pool");
    const runner = makeRunner();
    for (const run of [0, 1, 2]) {
      const done = runner.exec({ argv: ["a"] });
      if (run === 2) fake.poolState.taken += 1;
      fake.run(run).resolve(result());
      await done;
    }
    expect(heard).toHaveLength(2);
    fake.poolState.standing += 1;
    await runner.warm();
    expect(heard).toHaveLength(3);
    fake.poolState.standing = 0;
    await runner.close();
    expect(heard).toHaveLength(4);
  });

  it("are in the caller's async context", async () => {
    const storage = new AsyncLocalStorage<string>();
    const seen: unknown[] = [];
    for (const event of ["run.start", "run.end"]) {
      const name = `@openagentic/native-runner:${event}`;
      const subscriber = () => void seen.push(storage.getStore());
      subscribe(name, subscriber);
      undo.push(() => unsubscribe(name, subscriber));
    }
    const done = storage.run("the caller's", () => makeRunner().exec({ argv: ["a"] }));
    storage.run("another", () => fake.run(0).resolve(result()));
    await done;
    expect(seen).toEqual(["the caller's", "the caller's"]);
  });

  it("cost nothing where nobody listens", async () => {
    const { poolState: state } = fake;
    const poolState = vi.fn(() => state);
    const runner = makeRunner();
    const argv = ["a"];
    const copied = vi.spyOn(argv, Symbol.iterator);
    Object.defineProperty(fake, "poolState", { get: poolState });
    const settle = async (run: number) => {
      const done = runner.exec({ argv });
      fake.run(run).resolve(result());
      await done;
    };
    await settle(0);
    expect(copied).not.toHaveBeenCalled();
    expect(poolState).not.toHaveBeenCalled();
    for (const event of ["run.start", "pool"]) listen(event);
    await settle(1);
    expect(copied).toHaveBeenCalledTimes(1); // control
    expect(poolState).toHaveBeenCalledTimes(1);
  });
});
