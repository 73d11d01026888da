/**
 * A real worker and a caller by hand, which says things doubled, late and in any order: each run is started once at
 * most, and one that was declined is not started afterwards. Each start is a line in a file.
 */

import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { afterAll, beforeAll, expect, test } from "vitest";
import { randomOf, seedOf } from "../../../stress/transactions/random.js";
import { eventually, kQuietMs } from "../../../support/waits.js";
import { describeUnless, whyNoBubblewrap } from "../../support/requirements.js";
import { tempDirectory } from "../../support/temp.js";
import { type NatsServer, startNatsServer, whyNoNatsServer } from "../support/nats-server.js";
import { startWorker, type TestWorker } from "../support/worker.js";
import { HandCaller } from "./hand-caller.js";

const kSlots = 4;

/** How often each run was started. */
function starts(workspace: string): Map<number, number> {
  const file = join(workspace, "starts");
  const counts = new Map<number, number>();
  if (!existsSync(file)) return counts;
  for (const line of readFileSync(file, "utf8").trim().split("\n").filter(Boolean)) {
    counts.set(Number(line), (counts.get(Number(line)) ?? 0) + 1);
  }
  return counts;
}

describeUnless(whyNoNatsServer ?? whyNoBubblewrap, "a worker that is told things twice", () => {
  let server: NatsServer;
  let worker: TestWorker;
  const callers: HandCaller[] = [];
  beforeAll(async () => {
    server = await startNatsServer();
    worker = await startWorker({ server: server.url, slots: kSlots, policy: { prewarm: 0 } });
  }, 120_000);
  afterAll(() => Promise.all(callers.map((caller) => caller.close())));

  const caller = async () => {
    const made = await HandCaller.open(server.url);
    callers.push(made);
    return made;
  };
  const inputOf = (run: number, seconds = 0) => ({
    argv: ["sh", "-c", `echo ${run} >> starts; sleep ${seconds}`],
  });

  test("starts each run once at most, and none that it has declined", async () => {
    const seed = seedOf();
    const random = randomOf(seed);
    const hand = await caller();
    const workspace = tempDirectory();
    const { worker: id, lease } = await hand.invited(1);
    const kRuns = 30;
    /** Of each run: grants of up to three attempts and probes, each up to three times, in any order. */
    const words = Array.from({ length: kRuns }, (_, index) => {
      const run = index + 1;
      const own: (() => void)[] = [];
      for (let attempt = 1; attempt <= 1 + Math.floor(random() * 3); attempt += 1) {
        const grant = hand.grant(run, attempt, { lease, workspace, input: inputOf(run) });
        const probe = { t: "probe", caller: hand.id, run, attempt } as const;
        for (let copy = 0; copy < 1 + random() * 3; copy += 1) own.push(() => hand.say(id, grant));
        if (random() < 0.5) own.push(() => hand.say(id, probe));
      }
      return own.sort(() => random() - 0.5);
    });
    while (words.some((own) => own.length > 0)) {
      words[Math.floor(random() * kRuns)]?.shift()?.();
      if (random() < 0.2) await delay(random() * 30);
    }
    // Whatever runs has ended when each is told of in one way or another.
    const reported = (run: number) =>
      hand.all("end").some((end) => end.run === run) ||
      hand.all("decline").some((decline) => decline.run === run);
    const all = Array.from({ length: kRuns }, (_, at) => at + 1);
    await eventually("each was told of", () => all.every(reported));
    await delay(2 * kQuietMs); // what was still to start
    const counted = starts(workspace);
    const complaints: string[] = [];
    for (let run = 1; run <= kRuns; run += 1) {
      const started = counted.get(run) ?? 0;
      const ends = hand.all("end").filter((end) => end.run === run);
      const attempts = new Set(ends.map(({ attempt }) => attempt));
      if (started > 1) complaints.push(`run ${run}: ${started} starts`);
      if (attempts.size > 1) complaints.push(`run ${run}: ends of ${attempts.size} attempts`);
      if ((started === 1) !== (attempts.size === 1))
        complaints.push(`run ${run}: ${started} starts, ${attempts.size} ends`);
      const [attempt = 0] = attempts;
      const isDeclined = hand
        .all("decline")
        .some((each) => each.run === run && each.attempt === attempt);
      if (started === 1 && isDeclined)
        complaints.push(`run ${run}: attempt ${attempt} started and declined`);
    }
    expect(complaints, `seed ${seed}`).toEqual([]);
    expect(counted.size, `seed ${seed}`).toBeGreaterThan(0);
    expect(hand.all("decline").length, `seed ${seed}`).toBeGreaterThan(0);
  });

  test("declines what it has no slot for, and a copy of it does not start when there is one", async () => {
    const hand = await caller();
    const workspace = tempDirectory();
    const { worker: id, lease } = await hand.invited(1);
    const full = Array.from({ length: kSlots }, (_, at) => at + 1);
    for (const run of full) {
      hand.say(id, hand.grant(run, 1, { lease, workspace, input: inputOf(run, 2) }));
    }
    const late = hand.grant(9, 1, { lease, workspace, input: inputOf(9) });
    hand.say(id, late);
    await eventually("declined", () => hand.all("decline").length > 0);
    expect(hand.all("decline")[0]).toMatchObject({ run: 9, attempt: 1, why: "busy" });
    await eventually("ended", () =>
      full.every((run) => hand.all("end").some((end) => end.run === run)),
    );
    hand.say(id, late);
    hand.say(id, hand.grant(9, 1, { lease, workspace, input: inputOf(9) }));
    await delay(2 * kQuietMs);
    expect(starts(workspace).get(9)).toBeUndefined();
    // The control: another attempt, which the caller makes when it has heard the decline.
    hand.say(id, hand.grant(9, 2, { lease, workspace, input: inputOf(9) }));
    await eventually("ended", () => hand.all("end").some((end) => end.run === 9));
    expect(starts(workspace).get(9)).toBe(1);
  });

  test("does not start what it was asked about before it came", async () => {
    const hand = await caller();
    const workspace = tempDirectory();
    const { worker: id, lease } = await hand.invited(1);
    hand.say(id, { t: "probe", caller: hand.id, run: 1, attempt: 1 });
    await eventually("declined", () => hand.all("decline").length > 0);
    expect(hand.all("decline")[0]).toMatchObject({ run: 1, attempt: 1, why: "unknown" });
    hand.say(id, hand.grant(1, 1, { lease, workspace, input: inputOf(1) }));
    hand.say(id, hand.grant(2, 1, { lease, workspace, input: inputOf(2) })); // the control
    await eventually("ended", () => hand.all("end").some((end) => end.run === 2));
    await delay(kQuietMs);
    expect([...starts(workspace)]).toEqual([[2, 1]]);
  });

  test("does not start what comes under a lease that has ended, or was never given", async () => {
    const hand = await caller();
    const workspace = tempDirectory();
    const { worker: id, lease } = await hand.invited(1);
    hand.say(id, hand.grant(1, 1, { lease: lease + 1, workspace, input: inputOf(1) }));
    await delay(5_000); // no beat was echoed: the lease ends
    hand.say(id, hand.grant(2, 1, { lease, workspace, input: inputOf(2) }));
    await eventually("declined", () => hand.all("decline").length > 1);
    expect(hand.all("decline").map(({ run, why }) => `${run} ${why}`)).toEqual([
      "1 stale",
      "2 stale",
    ]);
    const again = await hand.invited(1); // the control
    hand.say(id, hand.grant(2, 2, { lease: again.lease, workspace, input: inputOf(2) }));
    await eventually("ended", () => hand.all("end").some((end) => end.run === 2));
    expect([...starts(workspace)]).toEqual([[2, 1]]);
  });

  test("lives on, whatever bytes and headers it is sent, and counts them", async () => {
    const hand = await caller();
    const workspace = tempDirectory();
    const { worker: id, lease } = await hand.invited(1);
    const seed = seedOf();
    const random = randomOf(seed);
    const kHeaders: unknown[] = [
      ...[
        null,
        1,
        "x",
        [],
        {},
        { t: { toString: 1, valueOf: 1 } },
        { t: ["want"] },
        { t: "__proto__" },
      ],
      ...[
        { t: "grant" },
        { ...hand.grant(1, 1, {}), run: -1 },
        { ...hand.grant(1, 1, {}), kind: "x" },
      ],
      { t: "want", caller: "a.b", n: 1 },
      {
        t: "call",
        caller: hand.id,
        run: 7,
        seq: 1,
        ack: 0,
        call: 1,
        operation: "x",
        args: [{ $number: {} }],
      },
    ];
    for (const header of kHeaders) {
      const text = Buffer.from(JSON.stringify(header));
      const frame = Buffer.concat([Buffer.alloc(4), text, Buffer.alloc(4)]);
      frame.writeUInt32BE(text.length);
      hand.throw(id, frame);
    }
    for (let at = 0; at < 200; at += 1) {
      hand.throw(id, Buffer.from(Array.from({ length: 40 }, () => Math.floor(random() * 256))));
    }
    // Values that are marked as what they are not, in a grant that is one: it is refused, and told so.
    const wrong = { $number: { toString: 1, valueOf: 1 } };
    hand.say(id, hand.grant(1, 1, { lease, workspace, policy: wrong, input: inputOf(1) }));
    hand.say(id, hand.grant(2, 1, { lease, workspace, input: { argv: wrong } }));
    hand.say(id, hand.grant(3, 1, { lease, workspace, input: inputOf(3) })); // the control
    await eventually("ended", () => hand.all("end").length > 2);
    const of = (run: number) => hand.all("end").find((end) => end.run === run);
    expect(of(1)?.error, `seed ${seed}`).toBeDefined();
    expect(of(2)?.error).toBeDefined();
    expect(of(3)).toMatchObject({ value: { exitCode: 0 } });
    expect(worker.log()).not.toMatch(/Error|at .*\.js:/);
  });
});
