/** Messages that come twice, and in another order than they were sent in, on both connections of each. */

import { setTimeout as delay } from "node:timers/promises";

import { expect, test } from "vitest";
import { BrokerAccess } from "../../../lib/remote/broker/broker-access.js";
import { Connection } from "../../../lib/remote/broker/connection.js";
import { workerSubject } from "../../../lib/remote/subjects.js";
import { Inbox, Outbox } from "../../../lib/remote/wire/frame.js";
import { startNatsServer, whyNoNatsServer } from "../../integration/remote/support/nats-server.js";
import { describeUnless, whyNoBubblewrap } from "../../integration/support/requirements.js";
import { framesOf } from "../../support/remote/frames-of.js";
import { eventually, kQuietMs } from "../../support/waits.js";
import { randomOf, seedOf } from "../transactions/random.js";
import type { Machines, PlannedRun } from "./support/machines.js";
import { DisorderProxy } from "./support/proxy.js";
import { manyRounds, type Random } from "./support/rounds.js";

const kRuns = 30;
const kDisorder = { doubled: 0.25, late: 0.25 };

function runsOf(random: Random): PlannedRun[] {
  const kinds = ["exec", "live", "spawn", "input"] as const;
  return Array.from({ length: kRuns }, (_, id) => ({
    id,
    kind: kinds[id % kinds.length] ?? "exec",
    steps: 1 + Math.floor(random() * 8),
    everyMs: 10,
    bytes: Math.floor(random() * 3 * 1024 ** 2),
  }));
}

describeUnless(whyNoNatsServer ?? whyNoBubblewrap, "messages doubled and turned round", () => {
  test("start nothing twice, and what comes out is right", async () => {
    const counts = { messages: 0, doubled: 0, late: 0 };
    const proxies = new Map<Machines, DisorderProxy>();
    const seen = await manyRounds(
      "doubled and turned round",
      4,
      async (machines) => {
        const { port } = await machines.startBroker();
        const proxy = new DisorderProxy(port, Math.random, kDisorder);
        proxies.set(machines, proxy);
        const url = await proxy.listen();
        machines.clientUrls = [url];
        await Promise.all(["one", "two"].map((name) => machines.startWorker(name)));
      },
      async (machines, random) => {
        const caller = machines.startCaller(runsOf(random));
        await caller.gone;
        return machines.verdict(caller, {
          faultAt: Date.now(),
          withinMs: Number.POSITIVE_INFINITY,
        });
      },
    );
    for (const proxy of proxies.values()) {
      for (const name of ["messages", "doubled", "late"] as const)
        counts[name] += proxy.counts[name];
      proxy.close();
    }
    process.stdout.write(`of all messages: ${JSON.stringify(counts)}\n`);
    expect(seen.exited).toBeGreaterThan(0);
    expect(counts.doubled).toBeGreaterThan(100);
  });
});

/**
 * The control: who starts whatever comes, as a worker without numbers and a memory would, starts runs twice and in
 * another order behind the same proxy.
 */
describeUnless(whyNoNatsServer, "the same messages without what guards against it", () => {
  test("would start runs twice, and in another order", async () => {
    const seed = seedOf();
    const server = await startNatsServer();
    const proxy = new DisorderProxy(server.port, randomOf(seed), kDisorder);
    const access = new BrokerAccess({ servers: [await proxy.listen()], insecure: true });
    const connection = new Connection(access);
    connection.hold();
    await connection.open();
    const subject = workerSubject("tests", "naive.1", "default");
    const inbox = new Inbox();
    const started: number[] = [];
    connection.subscribe(subject, ({ data }) => {
      for (const { header } of framesOf(inbox, data)) started.push((header as { run: number }).run);
    });
    const outbox = new Outbox("hand", (to, message) => connection.publish(to, message));
    const kGrants = 200;
    for (let run = 0; run < kGrants; run += 1) {
      outbox.send(subject, { t: "grant", run } as { t: string });
      outbox.flush();
      await delay(1);
    }
    await eventually("all were started", () => new Set(started).size === kGrants);
    await delay(kQuietMs); // copies that are late
    await connection.close();
    connection.release();
    proxy.close();
    const twice = started.length - new Set(started).size;
    const turned = started.filter((run, at) => at > 0 && run < (started[at - 1] ?? 0)).length;
    process.stdout.write(`without guards: ${twice} second starts, ${turned} out of order\n`);
    expect(twice, `seed ${seed}`).toBeGreaterThan(kGrants / 10);
    expect(turned, `seed ${seed}`).toBeGreaterThan(kGrants / 10);
  });
});
