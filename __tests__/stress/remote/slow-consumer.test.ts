/** A caller that is stopped while 50 of its runs write output: the broker stays small, and others notice nothing. */

import { readFileSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";
import { expect, test } from "vitest";

import { whyNoNatsServer } from "../../integration/remote/support/nats-server.js";
import { describeUnless, whyNoBubblewrap } from "../../integration/support/requirements.js";
import { manyRounds, mixedRuns, roundsOf } from "./support/rounds.js";

const kRuns = 50;
const kMiB = 1024 ** 2;
const kBytes = 4 * kMiB;
/** Shorter than a lease, and longer. */
const kStoppedMs = [1_500, 8_000];

function residentBytes(pid: number): number {
  const status = readFileSync(`/proc/${pid}/status`, "latin1");
  return Number(/VmRSS:\s+(\d+)/.exec(status)?.[1] ?? 0) * 1024;
}

describeUnless(whyNoNatsServer ?? whyNoBubblewrap, "a caller that does not read", () => {
  test("fills no broker, and holds up nobody else", async () => {
    let most = 0;
    let rounds = 0;
    const seen = await manyRounds(
      "a slow consumer",
      2,
      async (machines) => {
        await machines.startBroker();
        await Promise.all(["one", "two"].map((name) => machines.startWorker(name, { slots: 32 })));
      },
      async (machines, random) => {
        const input = { limits: { maxStdoutBytes: 2 * kBytes } };
        const runs = Array.from({ length: kRuns }, (_, id) => {
          return { id, kind: "flood", steps: 0, bytes: kBytes, input } as const;
        });
        const slow = machines.startCaller(runs);
        await slow.until(() => machines.counted(slow).size > 10, "running");
        const faultAt = Date.now();
        slow.signal("SIGSTOP");
        const other = machines.startCaller(mixedRuns(10, random, 5));
        let isStopped = true;
        const watched = (async () => {
          while (isStopped) {
            most = Math.max(most, residentBytes(machines.broker?.pid ?? 0));
            await delay(50);
          }
        })();
        await delay(kStoppedMs[rounds++ % kStoppedMs.length]);
        slow.signal("SIGCONT");
        await Promise.all([slow.gone, other.gone]);
        isStopped = false;
        await watched;
        const own = await machines.verdict(slow, { faultAt });
        const others = await machines.verdict(other, { faultAt });
        if (others.outcomes.exited !== 10) {
          others.complaints.push(`another caller: ${JSON.stringify(others.outcomes)}`);
        }
        return { ...own, complaints: [...own.complaints, ...others.complaints] };
      },
      1,
    );
    process.stdout.write(`the broker had at most ${Math.round(most / kMiB)} MiB\n`);
    const reported = Object.values(seen).reduce((sum, n) => sum + n, 0);
    expect(reported).toBe(kRuns * roundsOf(2));
    // 64 MiB is what a server keeps for one connection, by default.
    expect(most / kMiB).toBeLessThan(400);
  });
});
