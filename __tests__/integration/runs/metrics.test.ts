/** What runners count of real runs, and what they publish. */

import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { realpathSync } from "node:fs";
import { beforeAll, describe, expect, test } from "vitest";

import { eventually } from "../../support/waits.js";
import { runHost } from "../support/host-program.js";
import {
  BubblewrapNativeRunner,
  createRuntime,
  LocalNativeRunner,
  type PoolMessage,
  type RunEndMessage,
  type RunStartMessage,
  type RuntimeName,
} from "../support/package.js";
import { buildProbe } from "../support/probe.js";
import { describeSandboxed, describeUnless, whyNoBindFd } from "../support/requirements.js";
import { bytes, run } from "../support/results.js";
import { describeRuntime } from "../support/runtimes.js";
import { tempDirectory } from "../support/temp.js";

const kNapMs = 200;
const kNap = "sleep 0.2";
/** The deadline is kept by another clock's milliseconds. */
const kClockMs = 2;

const kNames: RuntimeName[] = ["bubblewrap", "landlock", "firejail", "native"];
for (const name of kNames) {
  describeRuntime(name, () => {
    const make = async (maxConcurrent?: number) => {
      const config = { runtimeType: name, allowFallbackToNative: false } as const;
      const runtime = await createRuntime(config, { environment: {}, warn: () => {} });
      return runtime.runner({ shadowDir: tempDirectory("work", "/var/tmp"), maxConcurrent });
    };

    test("a run that waits for another has time in the queue", async () => {
      const runner = await make(1);
      const begun = performance.now();
      const both = Promise.all([run(runner, kNap), run(runner, "true")]);
      const apart = performance.now() - begun; // at most, between the two calls
      expect(runner.metrics().runs.pending).toBe(2);
      const [first, second] = (await both).map(({ result }) => result.audits[0]?.timing);
      expect(first?.commandMs).toBeGreaterThanOrEqual(kNapMs);
      expect(second?.queueMs).toBeGreaterThanOrEqual(kNapMs - apart);
      expect(second?.queueMs).toBeGreaterThan(first?.queueMs ?? Number.POSITIVE_INFINITY);
      const { runs, phases } = runner.metrics();
      expect(runs).toMatchObject({ pending: 0, rejected: 0, outcomes: { exited: 2 } });
      for (const phase of Object.values(phases)) expect(phase.count).toBe(2);
      expect(phases.queue.maxMs).toBeCloseTo(second?.queueMs ?? 0, 2);
      expect(phases.command.maxMs).toBeCloseTo(first?.commandMs ?? 0, 2);
      expect(phases.total.maxMs).toBeGreaterThan(phases.command.maxMs);
    });

    test("the parts are the whole, whatever the outcome", async () => {
      const runner = await make();
      const results = await Promise.all([
        run(runner, "exit 3"),
        run(runner, "kill -9 $$"),
        run(runner, ["no-such-command"]),
        run(runner, ["sleep", "1000"], { limits: { timeoutMs: 3000 } }),
        run(runner, "sleep 1000 & exit 3"),
      ]);
      for (const { result, kind } of results) {
        const [audit] = result.audits;
        const { queueMs = 0, setupMs = 0, commandMs = 0, teardownMs = 0 } = audit?.timing ?? {};
        expect(setupMs + commandMs + teardownMs, kind).toBeCloseTo(audit?.durationMs ?? -1, 2);
        for (const part of [queueMs, setupMs, commandMs, teardownMs]) {
          expect(part, kind).toBeGreaterThan(0);
        }
      }
    });

    test("a kill at the deadline is counted, and proved", async () => {
      const runner = await make();
      expect((await run(runner, "exit 3")).result.audits[0]?.kill).toBeNull();
      expect(runner.metrics().kills).toEqual({ requested: 0, proved: 0 });
      const { result } = await run(runner, ["sleep", "1000"], { limits: { timeoutMs: kNapMs } });
      expect(result.audits[0]).toMatchObject({ outcome: "timed-out", kill: "proved" });
      const { setupMs, commandMs } = result.audits[0]?.timing ?? { setupMs: 0, commandMs: 0 };
      expect(setupMs + commandMs).toBeGreaterThan(kNapMs - kClockMs);
      expect(runner.metrics().kills).toEqual({ requested: 1, proved: 1 });
    });

    test("what a command leaves behind is killed, and counted", async () => {
      const runner = await make();
      const { result } = await run(runner, "sleep 1000 & exit 3");
      expect(result.audits[0]).toMatchObject({ outcome: "exited", kill: "proved" });
      expect(runner.metrics().kills).toEqual({ requested: 1, proved: 1 });
    });

    test("bytes over the limit are dropped", async () => {
      const runner = await make();
      const limits = { maxStdoutBytes: 1000, maxStderrBytes: 4 };
      await run(runner, "head -c 50000 /dev/zero; printf 123456 >&2", { limits });
      expect(runner.metrics().bytes).toEqual({
        stdout: { kept: 1000, dropped: 49_000 },
        stderr: { kept: 4, dropped: 2 },
      });
    });
  });
}

describeSandboxed("outcomes", () => {
  test("are counted by their kind", async () => {
    const shadowDir = tempDirectory();
    const runner = new BubblewrapNativeRunner({ shadowDir });
    await Promise.all([
      run(runner, "true"),
      run(runner, "exit 1"),
      run(runner, "kill -9 $$"),
      run(runner, ["no-such-command"]),
      run(runner, ["/etc"]),
      run(runner, ["sleep", "1000"], { limits: { timeoutMs: 100 } }),
      run(runner, ["sleep", "1000"], { signal: AbortSignal.timeout(100) }),
      run(runner, "while :; do :; done", { limits: { cpuSeconds: 1 } }),
      run(runner, "true", { cwd: "missing" }),
      expect(runner.exec({ argv: [] })).rejects.toThrow("argv"),
    ]);
    expect(runner.metrics().runs).toMatchObject({
      pending: 0,
      rejected: 1,
      outcomes: {
        exited: 2,
        signaled: 1,
        "not-found": 1,
        "not-executable": 1,
        "timed-out": 1,
        aborted: 1,
        "limit-exceeded": 1,
        "setup-failed": 1,
      },
    });
  });

  test("without a sandbox are rejections", async () => {
    const bwrapPath = "/no/such/bwrap";
    const runner = new BubblewrapNativeRunner({ shadowDir: tempDirectory(), bwrapPath });
    await expect(runner.exec({ argv: ["true"] })).rejects.toThrow(bwrapPath);
    expect(runner.metrics().runs).toMatchObject({ pending: 0, rejected: 1 });
  });
});

/** Everything that is published while `body` runs. */
async function heardWhile(body: () => Promise<unknown>) {
  const heard: { event: string; message: unknown }[] = [];
  const undo = ["run.start", "run.end", "pool"].map((event) => {
    const name = `@openagentic/native-runner:${event}`;
    const subscriber = (message: unknown) => void heard.push({ event, message });
    subscribe(name, subscriber);
    return () => unsubscribe(name, subscriber);
  });
  try {
    await body();
  } finally {
    for (const each of undo) each();
  }
  const of = <Message>(event: string) =>
    heard.filter((each) => each.event === event).map(({ message }) => message as Message);
  return {
    events: heard.map(({ event }) => event),
    starts: of<RunStartMessage>("run.start"),
    ends: of<RunEndMessage>("run.end"),
    pools: of<PoolMessage>("pool"),
  };
}

describeUnless(whyNoBindFd, "standing sandboxes", () => {
  test("are hits and misses", async () => {
    const runner = new BubblewrapNativeRunner({ shadowDir: tempDirectory(), prewarm: 1 });
    const { pools } = await heardWhile(async () => {
      const miss = await run(runner, "true");
      expect(miss.result.audits[0]).toMatchObject({ start: "cold", prewarmed: false });
      expect(await runner.warm()).toBe(1);
      const hit = await run(runner, kNap);
      expect(hit.result.audits[0]).toMatchObject({ start: "prewarmed", prewarmed: true });
      const { runs, pool } = runner.metrics();
      expect(runs.prewarmed).toBe(1);
      expect(pool).toMatchObject({ taken: 1, missed: 1, discarded: 0 });
      await eventually("another stands", () => runner.metrics().pool.standing === 1);
      await runner.close();
      expect(runner.metrics().pool).toMatchObject({ standing: 0, discarded: 1 });
    });
    expect(pools[0]?.pool).toMatchObject({ taken: 0, missed: 1 });
    expect(pools.at(-1)?.pool).toEqual(runner.metrics().pool);
    expect(new Set(pools.map((message) => message.runner)).size).toBe(1);
  });
});

describeSandboxed("a session", () => {
  test("is counted with its runner, command by command", async () => {
    const runner = new BubblewrapNativeRunner({ shadowDir: tempDirectory(), prewarm: 0 });
    const session = await runner.openSession();
    const { starts, ends, pools } = await heardWhile(async () => {
      const slept = (await run(session, kNap)).result.audits[0];
      expect(slept?.timing.commandMs).toBeGreaterThanOrEqual(kNapMs);
      expect(slept).toMatchObject({ start: "session", prewarmed: false, kill: null });
      const left = (await run(session, "sleep 1000 & exit 3")).result.audits[0];
      expect(left).toMatchObject({ outcome: "exited", kill: "proved" });
      await run(session, ["sleep", "1000"], { limits: { timeoutMs: 100 } });
      await run(runner, "true");
    });
    await session.close();
    await runner.execBatch([["true"], ["false"]]);
    const { runs, phases, kills } = runner.metrics();
    expect(runs).toMatchObject({ pending: 0, rejected: 0 });
    expect(runs.outcomes).toMatchObject({ exited: 5, "timed-out": 1 });
    expect(phases.setup.count).toBe(6);
    expect(kills).toEqual({ requested: 2, proved: 2 });
    expect(starts).toHaveLength(4);
    expect(new Set([...starts, ...ends].map((message) => message.runner)).size).toBe(1);
    expect(pools).toEqual([]);
    await runner.close();
  });
});

describe("events", () => {
  test("of each run: its start, then its end with the record that it gets", async () => {
    const runner = new LocalNativeRunner({ shadowDir: tempDirectory(), maxConcurrent: 2 });
    const count = 6;
    const results: unknown[] = [];
    const { events, starts, ends, pools } = await heardWhile(async () => {
      const runs = Array.from({ length: count }, (_, at) =>
        run(runner, `cat; echo OUTPUT; exit ${at}`, {
          env: { SECRET: "hush" },
          stdin: bytes("INPUT"),
        }),
      );
      for (const { result } of await Promise.all(runs)) results.push(result.audits[0]);
    });
    expect(events.slice(0, count)).toEqual(Array(count).fill("run.start"));
    expect(ends).toHaveLength(count);
    expect(new Set(starts.map(({ run: id }) => id)).size).toBe(count);
    for (const [at, start] of starts.entries()) {
      const end = ends.find((message) => message.run === start.run);
      expect(end?.audit).toBe(results[at]);
      expect(end?.policyHash).toBe(end?.audit?.policyHash);
      expect(start.policyHash).toBe(end?.policyHash);
      expect(end?.bytes?.stdout).toEqual({ kept: 12, dropped: 0 });
      expect(start.argv).toEqual(["sh", "-c", `cat; echo OUTPUT; exit ${at}`]);
    }
    expect(pools).toEqual([]); // it has none
    expect(JSON.stringify([starts, ends])).not.toMatch(/hush|INPUT/);
  });

  test("name the workspace nowhere but in the record", async () => {
    const shadowDir = realpathSync(tempDirectory());
    const runner = new LocalNativeRunner({ shadowDir });
    const { starts, ends } = await heardWhile(() => run(runner, "true"));
    expect(JSON.stringify(starts)).not.toContain(shadowDir);
    expect(ends[0]?.audit?.cwd).toBe(shadowDir); // control
  });
});

describe("a subscriber that throws", () => {
  let probe = "";
  beforeAll(() => {
    probe = buildProbe(tempDirectory("tools"));
  });

  test("is an uncaught exception of the host's, and nothing to the run", async () => {
    const ended = await runHost(probe, "subscriber.mjs", { args: [tempDirectory(), "catch"] });
    expect(ended).toMatchObject({ code: 0, left: [], err: "" });
    expect(JSON.parse(ended.out)).toEqual({
      outcome: { kind: "exited" },
      exitCode: 3,
      uncaught: ["thrown by run.start", "thrown by run.end"],
      exited: 1,
    });
  });

  test("ends a host that catches nothing, whose runs leave nothing", async () => {
    const ended = await runHost(probe, "subscriber.mjs", { args: [tempDirectory(), "crash"] });
    expect(ended).toMatchObject({ code: 1, left: [] });
    expect(ended.err).toContain("thrown by run.start");
  });
});
