/** A worker that gives signs of life and never ends a run: its caller has an outcome all the same. */

import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";

import { Caller } from "../../../lib/remote/caller/caller.js";
import { callTimeoutOf, timeoutOfRequest } from "../../../lib/remote/caller/deadline.js";
import type { RunEnd, RunRequest } from "../../../lib/remote/caller/remote-run.js";
import { FakeConnection } from "../../support/remote/fake-connection.js";
import { workerSays } from "../../support/remote/fake-worker.js";

const kRequest: RunRequest = {
  ...{ pool: "p", kind: "exec", policy: {}, workspace: "/w", isLive: false },
  ...{
    credit: 1024,
    queueTimeoutMs: 1_000,
    input: { argv: ["true"], limits: { timeoutMs: 10_000 } },
  },
};

beforeEach(() => {
  vi.useFakeTimers({
    toFake: [
      "setTimeout",
      "clearTimeout",
      "setInterval",
      "clearInterval",
      "setImmediate",
      "performance",
    ],
  });
});
afterEach(() => {
  vi.useRealTimers();
});

/** A caller with one run that a worker has, which beats for as long as the test lasts. */
async function granted(request: Partial<RunRequest> = {}) {
  const connection = new FakeConnection();
  const caller = new Caller(connection.asConnection, "t");
  await vi.advanceTimersByTimeAsync(0);
  const asked = { ...kRequest, ...request };
  const run = caller.run(asked, { out: () => {} });
  const says = workerSays(connection, caller, "p", "w.1");
  says({ t: "pull", pool: "p", n: 1, lease: 1 });
  await vi.advanceTimersByTimeAsync(1);
  expect(connection.all("grant")).toHaveLength(1);
  let ended: RunEnd | undefined;
  void run.end.then((end) => {
    ended = end;
  });
  const pass = async (ms: number) => {
    for (let at = 0; at < ms; at += 500) {
      const [runs, receipts] = [[run.number], []];
      says({
        t: "beat",
        pool: "p",
        at: performance.now(),
        heard: 0,
        receipts,
        runs,
        free: 0,
        lease: 1,
      });
      await vi.advanceTimersByTimeAsync(500);
    }
  };
  return { connection, caller, run, says, pass, end: () => ended };
}

describe("a run that its worker never ends", () => {
  test("is lost some time after its deadline, and its worker is told", async () => {
    const { connection, says, run, pass, end } = await granted();
    says({ t: "began", run: run.number, seq: 1, ack: 0 });
    await pass(39_000);
    expect(end()).toBeUndefined();
    await pass(3_000);
    expect(end()).toMatchObject({ kind: "lost", started: "yes", ended: "unproved" });
    expect(connection.all("abort").length).toBeGreaterThan(0);
  });

  test("is lost when it is never begun", async () => {
    const { pass, end } = await granted();
    await pass(59_000);
    expect(end()).toBeUndefined();
    await pass(3_000);
    expect(end()).toMatchObject({ kind: "lost", started: "unknown" });
  });

  test("is lost when it was aborted", async () => {
    const { caller, run, pass, end } = await granted({ kind: "session", input: {} });
    caller.abort(run);
    await pass(29_000);
    expect(end()).toBeUndefined();
    await pass(3_000);
    expect(end()).toMatchObject({ kind: "lost" });
  });

  test("may take its time where it asked for no deadline, and where its worker goes on sending", async () => {
    const limits = { timeoutMs: { $number: "Infinity" } };
    const forEver = await granted({ input: { argv: ["x"], limits } });
    forEver.says({ t: "began", run: forEver.run.number, seq: 1, ack: 0 });
    await forEver.pass(200_000);
    expect(forEver.end()).toBeUndefined();
    const slow = await granted();
    slow.says({ t: "began", run: slow.run.number, seq: 1, ack: 0 });
    for (let seq = 2; seq < 12; seq += 1) {
      await slow.pass(20_000);
      slow.says({ t: "portTaken", run: slow.run.number, seq, ack: 0, n: 0 });
    }
    expect(slow.end()).toBeUndefined();
  });
});

test("an operation that is never answered rejects", async () => {
  const { caller, run, says, pass } = await granted({ kind: "transaction", input: {} });
  says({ t: "began", run: run.number, seq: 1, ack: 0 });
  let error: unknown;
  caller.call(run, "commit", []).catch((thrown: unknown) => {
    error = thrown;
  });
  await pass(599_000);
  expect(error).toBeUndefined();
  await pass(2_000);
  expect(error).toMatchObject({ code: "ERR_SANDBOX_UNAVAILABLE", message: /commit.*w\.1/ });
}, 60_000);

test("each kind has the time that it asks for", () => {
  const of = (kind: RunRequest["kind"], input: unknown) => timeoutOfRequest({ kind, input });
  expect(of("exec", { limits: { timeoutMs: 5 } })).toBe(5);
  expect(of("exec", {})).toBe(60_000);
  expect(of("spawn", {})).toBe(Number.POSITIVE_INFINITY);
  expect(of("batch", { commands: [{}, { limits: { timeoutMs: 7 } }] })).toBe(60_007);
  expect(of("exec", { limits: { timeoutMs: "soon" } })).toBe(60_000);
  expect(callTimeoutOf([8080, { timeoutMs: 1_000 }])).toBe(601_000);
  expect(callTimeoutOf([8080, { timeoutMs: Number.POSITIVE_INFINITY }])).toBe(2 ** 31 - 1);
});
