/** When a run is lost: never while its worker may still tell of it, and not much later. Times in milliseconds. */

import fc from "fast-check";
import { describe, expect, test } from "vitest";

import { RemoteRun } from "../../../lib/remote/caller/remote-run.js";
import { Link, Watch } from "../../../lib/remote/caller/watch.js";

const kLost = 6_500;
const kLostApart = 30_000;
const kPatience = 2_500;
const kPause = 1_500;
const kTick = 50;

function granted(now: number): { run: RemoteRun; link: Link } {
  const request = { pool: "p", kind: "exec", policy: {}, workspace: "/", input: {} } as const;
  const rest = { isLive: false, credit: 1, queueTimeoutMs: 1 };
  const run = new RemoteRun(1, { ...request, ...rest }, { out: () => {} }, now, () => {});
  run.granted("w.1", now);
  return { run, link: Object.assign(new Link("w.1", "p"), { echoedAt: now }) };
}

/** What happens, and how long nothing does before it. */
const event = fc.record({
  after: fc.oneof(
    { weight: 4, arbitrary: fc.nat(400) },
    { weight: 1, arbitrary: fc.integer({ min: 1_400, max: 40_000 }) },
  ),
  what: fc.constantFrom("tick", "echo", "listed", "disconnected", "connected", "stopped"),
});

describe("a run whose worker is silent", () => {
  test("is lost when nothing of it can run any more, and no sooner", () => {
    fc.assert(
      fc.property(fc.array(event, { maxLength: 60 }), (events) => {
        const watch = new Watch();
        let now = 1_000;
        const { run, link } = granted(now);
        let echoedAt = now;
        let patientUntil = 0;
        let isApart = false;
        let tickedAt = now;
        watch.begin(now);
        const tick = () => {
          if (now - tickedAt > kPause) patientUntil = now + kPatience;
          watch.tick(now);
          tickedAt = now;
        };
        /** Whether it may be lost, and whether it has to be. */
        const look = () => {
          const verdict = watch.judge(run, link, now);
          const silence = now - echoedAt;
          const isLost = silence > (isApart ? kLostApart : kLost) && now > patientUntil;
          expect(verdict === "lost", `${silence} ms of silence`).toBe(isLost);
          if (verdict === "probe") run.probedAt = now;
          return verdict;
        };
        for (const { after, what } of events) {
          // A process that goes on ticks all the time; one that was stopped does not.
          if (what === "stopped") now += after;
          else for (const until = now + after; now < until; now += kTick) tick();
          if (what === "echo") {
            link.echoedAt = now;
            echoedAt = now;
          } else if (what === "listed") run.listedAt = now;
          else if (what === "disconnected") {
            watch.disconnected(now);
            isApart = true;
          } else if (what === "connected") {
            watch.connected(now);
            isApart = false;
            patientUntil = now + kPatience;
          }
          tick();
          look();
        }
        // Whatever was before: a silence that lasts ends it.
        for (const until = now + kLostApart + kPatience; now <= until; now += kTick) tick();
        now += 1;
        expect(look()).toBe("lost");
      }),
      { numRuns: 200 },
    );
  });

  test("is asked about once a second, and not while its worker lists it", () => {
    const watch = new Watch();
    const { run, link } = granted(0);
    const probes: number[] = [];
    for (let now = 0; now <= 20_000; now += kTick) {
      watch.tick(now);
      link.echoedAt = now;
      if (now < 5_000) run.listedAt = now;
      const verdict = watch.judge(run, link, now);
      expect(verdict).not.toBe("lost");
      if (verdict !== "probe") continue;
      probes.push(now);
      run.probedAt = now;
    }
    expect(probes[0]).toBeGreaterThan(5_900);
    expect(probes).toHaveLength(14);
    const gaps = probes.slice(1).map((at, index) => at - (probes[index] ?? 0));
    expect(Math.min(...gaps)).toBeGreaterThan(1_000);
  });

  test("that its caller does not know counts from the grant", () => {
    const watch = new Watch();
    const { run } = granted(1_000);
    watch.begin(7_400);
    expect(watch.judge(run, undefined, 7_500)).not.toBe("lost");
    expect(watch.judge(run, undefined, 7_501)).toBe("lost");
  });
});

test("a caller that had nothing to wait for was not stopped", () => {
  const watch = new Watch();
  watch.begin(0);
  const { run, link } = granted(100_000);
  watch.begin(100_000);
  watch.tick(100_050);
  expect(watch.judge(run, link, 106_400)).not.toBe("lost");
  expect(watch.judge(run, link, 106_501)).toBe("lost");
});

test("a caller that is stopped before its first tick reads first what has come", () => {
  const watch = new Watch();
  const { run, link } = granted(1_000);
  watch.begin(1_000);
  watch.tick(9_000);
  expect(watch.judge(run, link, 9_000)).not.toBe("lost");
  expect(watch.judge(run, link, 9_000 + kPatience)).not.toBe("lost");
  expect(watch.judge(run, link, 9_001 + kPatience)).toBe("lost");
});
