/**
 * SIGSTOP of a worker, of a caller and of the broker, for shorter than a lease and for longer. Launchers keep the
 * lease of what they run also while their worker is stopped.
 */

import { setTimeout as delay } from "node:timers/promises";
import { expect, test } from "vitest";

import { whyNoNatsServer } from "../../integration/remote/support/nats-server.js";
import { describeUnless, whyNoBubblewrap } from "../../integration/support/requirements.js";
import { manyRounds, mixedRuns } from "./support/rounds.js";

const kWho = ["worker", "caller", "broker"] as const;
/** Seconds, one after the other: while one lane has the longest, another has all the rest. */
const kSeconds = [30, 0.5, 3, 10];

/** Runs of which some last longer than the stop and a lease. */
const kLonger = 5;

async function stopped(who: (typeof kWho)[number]) {
  let rounds = 0;
  return manyRounds(
    `${who} stopped for ${kSeconds.join(", ")} s`,
    kSeconds.length,
    async (machines) => {
      await machines.startBroker();
      await machines.startWorker("one");
    },
    async (machines, random) => {
      const length = kSeconds[rounds++ % kSeconds.length] ?? 1;
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
  );
}

describeUnless(whyNoNatsServer ?? whyNoBubblewrap, "stopped, and let go on", () => {
  test("a worker, a caller, the broker: one outcome each, and no step after the lease", async () => {
    const seen = await Promise.all(kWho.map(stopped));
    for (const outcomes of seen) expect(outcomes.exited).toBeGreaterThan(0);
  });
});
