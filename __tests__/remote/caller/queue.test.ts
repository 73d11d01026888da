/** What a caller tells of its queue: also without a worker, and without a connection. */

import { setImmediate as turn } from "node:timers/promises";
import { expect, test } from "vitest";

import { Caller } from "../../../lib/remote/caller/caller.js";
import type { RunRequest } from "../../../lib/remote/caller/remote-run.js";
import { RemoteNativeRunner } from "../../../lib/remote/caller/remote-runner.js";
import { FakeConnection } from "../../support/remote/fake-connection.js";
import { workerSays } from "../../support/remote/fake-worker.js";

const kRequest: RunRequest = {
  ...{ pool: "p", kind: "exec", policy: {}, workspace: "/w", isLive: false, credit: 1024 },
  ...{ queueTimeoutMs: 60_000, input: { argv: ["true"] } },
};

test("runs wait, are granted and end", async () => {
  const connection = new FakeConnection();
  const caller = new Caller(connection.asConnection, "t");
  await turn();
  const runs = [1, 2, 3].map(() => caller.run(kRequest, { out: () => {} }));
  caller.run({ ...kRequest, pool: "other" }, { out: () => {} });
  const waiting = caller.queueOf("p");
  expect(waiting).toMatchObject({ waiting: 3, granted: 0, isConnected: true });
  await turn();
  expect(caller.queueOf("p").longestWaitMs).toBeGreaterThan(waiting.longestWaitMs);
  workerSays(connection, caller, "p", "w.1")({ t: "pull", pool: "p", n: 2, lease: 1 });
  await turn();
  expect(caller.queueOf("p")).toMatchObject({ waiting: 1, granted: 2 });
  expect(caller.queueOf("other")).toMatchObject({ waiting: 1, granted: 0 });
  const last = runs.at(-1);
  if (last) caller.abort(last);
  expect(caller.queueOf("p")).toMatchObject({ waiting: 0, longestWaitMs: 0, granted: 2 });
  await caller.close();
});

test("a runner that was never used has none, and makes no connection for it", async () => {
  const runner = new RemoteNativeRunner({
    ...{ servers: ["nats://127.0.0.1:1"], insecure: true, pool: "p", workspace: "/w" },
  });
  const none = { waiting: 0, longestWaitMs: 0, granted: 0, isConnected: false };
  expect(runner.queue()).toEqual(none);
  const run = runner.exec({ argv: ["true"] });
  expect(runner.queue()).toMatchObject({ waiting: 1, isConnected: false });
  await runner.close();
  await run.catch(() => {});
});
