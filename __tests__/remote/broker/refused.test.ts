/** A key that is not for the tenant, pool or name is an error that names it, at the caller and at the worker. */

import { afterEach, expect, test } from "vitest";

import { BrokerAccess } from "../../../lib/remote/broker/broker-access.js";
import { Connection } from "../../../lib/remote/broker/connection.js";
import { type Refused, workerRefusal } from "../../../lib/remote/broker/refused.js";
import { Caller } from "../../../lib/remote/caller/caller.js";
import type { RunRequest } from "../../../lib/remote/caller/remote-run.js";
import { type Denied, FakeBroker } from "../../support/remote/fake-broker.js";
import { eventually } from "../../support/waits.js";

const closing: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

async function connectionTo(denied: Denied): Promise<Connection> {
  const broker = await FakeBroker.open(denied);
  const connection = new Connection(new BrokerAccess({ servers: [broker.url], insecure: true }));
  closing.push(
    () => broker.close(),
    () => connection.close(),
  );
  return connection;
}

/** Far longer than a refusal takes to come. */
const kPatientMs = 60_000;

const request = (pool: string, queueTimeoutMs = kPatientMs): RunRequest => ({
  ...{ pool, kind: "exec", policy: {}, workspace: "/w", input: { argv: ["true"] } },
  ...{ isLive: false, credit: 1024, queueTimeoutMs },
});

test("a caller hears that its key may not use a pool, and waits for another one", async () => {
  const caller = new Caller(await connectionTo({ publish: ["*.free.gpu.*"] }), "ci");
  const refused = caller.run(request("gpu"), { out: () => {} });
  const other = caller.run(request("build", 400), { out: () => {} });
  const end = await refused.end;
  expect(end).toMatchObject({ kind: "failed", error: { code: "ERR_SANDBOX_UNAVAILABLE" } });
  expect(end).toMatchObject({
    error: { message: /tenant "ci" in the pool "gpu".*nr1\.free\.gpu\.ci/ },
  });
  expect(await other.end).toMatchObject({ kind: "queue-timeout" }); // the control
});

test("a caller hears that its key is not for its tenant, also with later runs", async () => {
  const caller = new Caller(await connectionTo({ subscribe: ["*.c.ci.>", "*.c.ci.*"] }), "ci");
  for (let round = 0; round < 2; round += 1) {
    const end = await caller.run(request("build"), { out: () => {} }).end;
    expect(end).toMatchObject({
      kind: "failed",
      error: { message: /tenant "ci".*subscribe to nr1\.c\.ci/ },
    });
  }
});

test("a worker hears which pool and name its key is not for, before it counts as serving", async () => {
  const connection = await connectionTo({ subscribe: ["*.free.gpu.*"] });
  const seen: Refused[] = [];
  connection.listen({ refused: (refused) => seen.push(refused) });
  connection.hold();
  await connection.open();
  connection.subscribe("nr1.free.build.*", () => {}, "free");
  await connection.settled();
  expect(seen).toEqual([]); // the control
  connection.subscribe("nr1.free.gpu.*", () => {}, "free");
  await connection.settled();
  expect(seen).toEqual([{ operation: "subscription", subject: "nr1.free.gpu.*" }]);
  const [refused] = seen;
  if (refused) {
    const { message } = workerRefusal(refused, { pool: "gpu", name: "w1" });
    expect(message).toMatch(/pool "gpu" as the worker "w1".*subscribe to nr1\.free\.gpu\.\*/);
  }
  connection.publish("x", new Uint8Array(0));
  await eventually("nothing more is refused", () => seen.length === 1);
  connection.release();
});
