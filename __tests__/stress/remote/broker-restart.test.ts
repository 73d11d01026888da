/** The broker is killed and comes back while 1,000 runs wait: all are told of, and none that waited is lost. */

import { setTimeout as delay } from "node:timers/promises";
import { expect, test } from "vitest";

import { whyNoNatsServer } from "../../integration/remote/support/nats-server.js";
import { describeUnless, whyNoBubblewrap } from "../../integration/support/requirements.js";
import type { PlannedRun } from "./support/machines.js";
import { manyRounds, roundsOf } from "./support/rounds.js";

const kRuns = 1_000;
const kSlots = 8;

describeUnless(whyNoNatsServer ?? whyNoBubblewrap, "a broker with 1,000 runs that wait", () => {
  test("is killed and comes back", async () => {
    const seen = await manyRounds(
      "broker killed with 1,000 queued",
      1,
      async (machines) => {
        await machines.startBroker();
        await Promise.all(
          ["one", "two"].map((name) => machines.startWorker(name, { slots: kSlots })),
        );
      },
      async (machines, random) => {
        const runs = Array.from({ length: kRuns }, (_, id): PlannedRun => {
          return { id, kind: "exec", steps: id % 20 === 0 ? 3 : 0 };
        });
        const caller = machines.startCaller(runs, { options: { queueTimeoutMs: 600_000 } });
        const before = 10 + random() * 300;
        await caller.until(() => caller.settled > before, "running");
        const faultAt = Date.now();
        const port = machines.broker?.port;
        await machines.broker?.stop("SIGKILL");
        await delay(random() * 2_000);
        await machines.startBroker("", port);
        await caller.gone;
        return machines.verdict(caller, { faultAt, withinMs: Number.POSITIVE_INFINITY });
      },
      1,
    );
    const { exited = 0, ...others } = seen;
    const lost = Object.values(others).reduce((sum, n) => sum + n, 0);
    expect(exited + lost).toBe(kRuns * roundsOf(1));
    // Each that is lost had been granted: there is no more of them than slots.
    expect(lost).toBeLessThanOrEqual(2 * kSlots * roundsOf(1));
  });
});
