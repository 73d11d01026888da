/** A worker is what the broker says it is: it gets no run of a pool, and no word about a run, by naming them. */

import { setImmediate as turn } from "node:timers/promises";
import { expect, test } from "vitest";

import { Caller } from "../../../lib/remote/caller/caller.js";
import type { RunEnd, RunRequest } from "../../../lib/remote/caller/remote-run.js";
import { FakeConnection } from "../../support/remote/fake-connection.js";
import { workerSays } from "../../support/remote/fake-worker.js";

const kRequest: RunRequest = {
  ...{ pool: "high", kind: "exec", policy: {}, workspace: "/w", isLive: false, credit: 1024 },
  ...{ queueTimeoutMs: 60_000, input: { argv: ["echo", "a secret"] } },
};

async function waiting() {
  const connection = new FakeConnection();
  const caller = new Caller(connection.asConnection, "t");
  await turn();
  const run = caller.run(kRequest, { out: () => {} });
  let end: RunEnd | undefined;
  void run.end.then((settled) => {
    end = settled;
  });
  const grants = async () => {
    await turn();
    await turn();
    return connection.all("grant").map(({ subject }) => subject);
  };
  const ended = async () => {
    await turn();
    return end;
  };
  const done = async () => {
    caller.abort(run);
    await caller.close();
  };
  return { connection, caller, run, grants, ended, done };
}

const pull = { t: "pull", pool: "high", n: 1, lease: 1 };

test("a worker of another pool gets no run by naming the pool of it", async () => {
  const { connection, caller, grants, done } = await waiting();
  const low = workerSays(connection, caller, "low", "l.1");
  expect(low(pull)).toBe(1);
  low({ t: "beat", pool: "high", at: 1, heard: 0, receipts: [], runs: [], free: 9, lease: 1 });
  expect(await grants()).toEqual([]);
  expect(caller.dropped).toBe(2);
  workerSays(connection, caller, "high", "h.1")(pull); // the control
  expect(await grants()).toEqual(["nr1.w.high.h.1.t"]);
  await done();
});

test("a worker ends no run of another by that one's name", async () => {
  const { connection, caller, run, grants, ended, done } = await waiting();
  const own = workerSays(connection, caller, "high", "h.1");
  own(pull);
  await grants();
  const end = { t: "end", pool: "high", run: run.number, attempt: 1, value: null, sent: [0, 0] };
  const rest = { rest: [], free: 0, lease: 1 };
  const other = workerSays(connection, caller, "high", "l.1");
  other({ ...end, ...rest, worker: "h.1" });
  expect(await ended()).toBeUndefined();
  own({ ...end, ...rest }); // the control
  expect(await ended()).toMatchObject({ kind: "ended" });
  await done();
});

test("nothing is heard on the subject that all workers could name", async () => {
  const { connection, caller, grants, done } = await waiting();
  connection.deliver(`nr1.c.t.${caller.id}`, Object.assign({ worker: "h.1" }, pull));
  expect(await grants()).toEqual([]);
  await done();
});
