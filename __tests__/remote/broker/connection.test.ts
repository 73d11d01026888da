/** A connection keeps its process alive while anything is awaited, and finds out soon that its broker is frozen. */

import { setTimeout as delay } from "node:timers/promises";

import { afterEach, expect, test } from "vitest";

import { BrokerAccess } from "../../../lib/remote/broker/broker-access.js";
import { Connection } from "../../../lib/remote/broker/connection.js";
import { FakeBroker } from "../../support/remote/fake-broker.js";
import { eventually } from "../../support/waits.js";

const open: FakeBroker[] = [];
afterEach(async () => {
  await Promise.all(open.splice(0).map((broker) => broker.close()));
});

async function broker(): Promise<FakeBroker> {
  const made = await FakeBroker.open();
  open.push(made);
  return made;
}

function connectionTo(...brokers: FakeBroker[]): Connection {
  const servers = brokers.map(({ url }) => url);
  return new Connection(new BrokerAccess({ servers, insecure: true }));
}

/** Sockets that keep this process alive. */
const held = () =>
  process.getActiveResourcesInfo().filter((each) => each === "TCPSocketWrap").length;

test("closing keeps the process alive until it has closed", async () => {
  const at = await broker();
  const before = held();
  const connection = connectionTo(at);
  connection.use();
  await connection.open();
  expect(held()).toBe(before); // an idle one keeps nothing alive
  connection.hold();
  expect(held()).toBe(before + 1); // the control
  connection.release();
  connection.unuse();
  at.pongAfterMs = 50; // so that the flush takes a while
  const closed = connection.close();
  await new Promise(setImmediate);
  expect(held()).toBe(before + 1);
  await closed;
  await eventually("the socket is gone", () => held() === before);
});

test("closing while it still connects settles, and leaves nothing", async () => {
  const at = await broker();
  at.freeze();
  const before = held();
  const connection = connectionTo(at);
  connection.hold();
  void connection.open();
  await eventually("it connects", () => at.clients === 1);
  await connection.close();
  connection.release();
  expect(held()).toBeLessThanOrEqual(before + 1); // the client's attempt ends by its own deadline
});

test("closing settles though the broker is frozen", async () => {
  const at = await broker();
  const connection = connectionTo(at);
  connection.hold();
  await connection.open();
  at.freeze();
  await connection.close();
  connection.release();
});

test("a broker that freezes is left for another one in time for a lease", async () => {
  const [first, second] = [await broker(), await broker()];
  const connection = connectionTo(first, second);
  connection.hold();
  await connection.open();
  const [frozen, other] = first.clients === 1 ? [first, second] : [second, first];
  expect([frozen.clients, other.clients]).toEqual([1, 0]);
  const connected = new Promise<void>((resolve) => {
    connection.listen({ connected: () => resolve() });
  });
  const begun = performance.now();
  frozen.freeze();
  await connected;
  // Not a figure: launchers end what runs when a lease of 4 s and the age of its last echo, 2 s, are over.
  expect(performance.now() - begun).toBeLessThan(6_000);
  expect(other.clients).toBe(1);
  await connection.close();
  connection.release();
});

test("a broker whose answers are behind a long message is not left", async () => {
  const [first, second] = [await broker(), await broker()];
  const connection = connectionTo(first, second);
  connection.hold();
  await connection.open();
  connection.subscribe("long", () => {});
  await connection.settled();
  let losses = 0;
  connection.listen({
    disconnected: () => {
      losses += 1;
    },
  });
  const [slow, other] = first.clients === 1 ? [first, second] : [second, first];
  slow.pongAfterMs = 2 ** 30;
  slow.trickle(true);
  const trickle = setInterval(() => slow.trickle(false), 200);
  await delay(5_000); // a broker that sends nothing is left within 2.4 s
  expect({ losses, clients: [slow.clients, other.clients] }).toEqual({
    losses: 0,
    clients: [1, 0],
  });
  clearInterval(trickle);
  await eventually("the broker that is silent now is left", () => losses === 1); // the control
  await connection.close();
  connection.release();
});
