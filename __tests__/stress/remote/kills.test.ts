/** SIGKILL of a worker, of a caller and of the broker, at any moment. */

import { setTimeout as delay } from "node:timers/promises";
import { expect, test } from "vitest";

import { whyNoNatsServer } from "../../integration/remote/support/nats-server.js";
import { describeUnless, whyNoBubblewrap } from "../../integration/support/requirements.js";
import type { Machines } from "./support/machines.js";
import { manyRounds, mixedRuns } from "./support/rounds.js";

const kRuns = 24;

async function brokerAndTwoWorkers(machines: Machines): Promise<void> {
  await machines.startBroker();
  await Promise.all(["one", "two"].map((name) => machines.startWorker(name)));
}

describeUnless(whyNoNatsServer ?? whyNoBubblewrap, "killed", () => {
  test("a worker: its runs are lost, and nothing of them goes on", async () => {
    const seen = await manyRounds(
      "worker killed",
      3,
      brokerAndTwoWorkers,
      async (machines, random) => {
        const caller = machines.startCaller(mixedRuns(kRuns, random));
        await caller.until(() => caller.lines.length > 0, "calling");
        await delay(random() * 2_000);
        const [worker] = machines.workers;
        if (worker === undefined) throw new Error("there is no worker");
        const faultAt = Date.now();
        await worker.end();
        machines.forget(worker);
        await Promise.all([machines.startWorker(`w${faultAt}`), caller.gone]);
        return machines.verdict(caller, { faultAt });
      },
    );
    expect(seen.exited).toBeGreaterThan(0);
  });

  test("a caller: what runs for it ends with its lease", async () => {
    const seen = await manyRounds(
      "caller killed",
      3,
      brokerAndTwoWorkers,
      async (machines, random) => {
        const caller = machines.startCaller(mixedRuns(kRuns, random, 200));
        await caller.until(() => caller.lines.length > 0, "calling");
        await delay(random() * 3_000);
        const faultAt = Date.now();
        await caller.end();
        return machines.verdict(caller, { faultAt, isCallerGone: true });
      },
    );
    expect(seen["not told"]).toBeGreaterThan(0);
  });

  test("the broker, and started anew: what it carried comes again, or is lost", async () => {
    const seen = await manyRounds(
      "broker killed",
      3,
      brokerAndTwoWorkers,
      async (machines, random) => {
        const caller = machines.startCaller(mixedRuns(kRuns, random));
        await caller.until(() => caller.lines.length > 0, "calling");
        await delay(random() * 2_000);
        const faultAt = Date.now();
        const port = machines.broker?.port;
        await machines.broker?.stop("SIGKILL");
        await delay(random() * 1_000);
        await machines.startBroker("", port);
        await caller.gone;
        return machines.verdict(caller, { faultAt, withinMs: Number.POSITIVE_INFINITY });
      },
    );
    expect(seen.exited).toBeGreaterThan(0);
  });
});
