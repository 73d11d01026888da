/**
 * SIGSTOP of a worker, of a caller and of the broker, for shorter than a lease and for longer. Launchers keep the
 * lease of what they run also while their worker is stopped.
 */

import { setTimeout as delay } from "node:timers/promises";
import { expect, test } from "vitest";

import { whyNoNatsServer } from "../../integration/remote/support/nats-server.js";
import { describeUnless, whyNoBubblewrap } from "../../integration/support/gate.js";
import { manyRounds, mixedRuns } from "./support/rounds.js";

const kWho = ["worker", "caller", "broker"] as const;
/** Seconds, one after the other in a lane; the lanes go on beside one another. */
const kLanes = [[0.5, 3, 10], [30]];

/** Runs of which some last longer than the stop and a lease. */
const kLonger = 5;

async function stopped(who: (typeof kWho)[number], seconds: readonly number[]) {
  const name = `${who} stopped for ${seconds.join(", ")} s`;
  let rounds = 0;
  return manyRounds(
    name,
    seconds.length,
    async (machines) => {
      await machines.startBroker();
      await machines.startWorker("one");
    },
    async (machines, random) => {
      const length = seconds[rounds++ % seconds.length] ?? 1;
      const caller = machines.startCaller(
        mixedRuns(12, random, (Math.min(length, 10) + kLonger) * 10),
      );
      await caller.until(() => machines.counted(caller).size > 3, "running");
      await delay(500 + random() * 1_000);
      const { broker } = machines;
      const pids = {
        worker: machines.workers[0]?.process.pid,
        caller: caller.process.pid,
        broker: broker?.pid,
      };
      const pid = pids[who] ?? 0;
      const faultAt = Date.now();
      process.kill(pid, "SIGSTOP");
      await delay(length * 1_000);
      process.kill(pid, "SIGCONT");
      await caller.gone;
      return machines.verdict(caller, { faultAt });
    },
    1,
  );
}

describeUnless(whyNoNatsServer ?? whyNoBubblewrap, "stopped, and let go on", () => {
  test("a worker, a caller, the broker: one outcome each, and no step after the lease", async () => {
    const lanes = kWho.flatMap((who) => kLanes.map((seconds) => stopped(who, seconds)));
    const seen = await Promise.all(lanes);
    for (const outcomes of seen) expect(outcomes.exited).toBeGreaterThan(0);
  });
});
