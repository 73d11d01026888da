/**
 * A worker that is cut off from the broker, for shorter than a lease and for longer: the cable between their network
 * namespaces is pulled, and plugged in again. What was on its way comes late, when TCP sends it again.
 */

import { setTimeout as delay } from "node:timers/promises";
import { expect, test } from "vitest";

import { startNatsServer, whyNoNatsServer } from "../../integration/remote/support/nats-server.js";
import { describeUnless, whyNoBubblewrap } from "../../integration/support/requirements.js";
import { Machine, type Machines } from "./support/machines.js";
import { Cable, whyNoCable } from "./support/network.js";
import { manyRounds, mixedRuns } from "./support/rounds.js";

/** Seconds: shorter than a lease, and longer; the last also for longer than the client waits for the broker. */
const kSeconds = [1.5, 10, 25];
const kLonger = 5;
const kMostSteps = 100;

describeUnless(whyNoNatsServer ?? whyNoBubblewrap ?? whyNoCable, "a worker that is cut off", () => {
  test("one outcome each, one start at most, and no step after the lease", async () => {
    let rounds = 0;
    const cables = new Map<Machines, Cable>();
    const relays: Machine[] = [];
    const seen = await manyRounds(
      "a worker cut off",
      kSeconds.length,
      async (machines) => {
        const cable = new Cable();
        cables.set(machines, cable);
        const broker = await startNatsServer("", { before: cable.near(), address: "0.0.0.0" });
        machines.broker = broker;
        const relay = new Machine(cable.relay(broker.port));
        relays.push(relay);
        await relay.until(() => relay.out.includes("listening"), "listening");
        await machines.startWorker("near", { before: cable.near(), slots: 4 });
        await machines.startWorker("far", { before: cable.far(), slots: 8 });
      },
      async (machines, random) => {
        const seconds = kSeconds[rounds++ % kSeconds.length] ?? 1;
        const cable = cables.get(machines);
        if (cable === undefined) throw new Error("there is no cable");
        const steps = Math.min(kMostSteps, (seconds + kLonger) * 10);
        const caller = machines.startCaller(mixedRuns(24, random, steps), { before: cable.near() });
        await caller.until(() => machines.counted(caller).size > 6, "running");
        await delay(500 + random() * 1_000);
        const faultAt = Date.now();
        cable.pull();
        await delay(seconds * 1_000);
        cable.plug();
        await caller.gone;
        return machines.verdict(caller, { faultAt });
      },
    );
    await Promise.all(relays.map((relay) => relay.end()));
    expect(seen.exited).toBeGreaterThan(0);
    // Some were at the far end when it was cut off for longer than a lease.
    const lost = Object.entries(seen).filter(([name]) => name.startsWith("lost"));
    expect(lost.reduce((sum, [, count]) => sum + count, 0)).toBeGreaterThan(0);
  });
});
