/** A run that a worker declines goes to another one, unless the first has reported on it: it may have started it. */

import { setImmediate as turn } from "node:timers/promises";
import { expect, test } from "vitest";

import { Caller } from "../../../lib/remote/caller/caller.js";
import type { RunEnd, RunRequest } from "../../../lib/remote/caller/remote-run.js";
import { FakeConnection } from "../../support/remote/fake-connection.js";
import { workerSays } from "../../support/remote/fake-worker.js";

const kRequest: RunRequest = {
  ...{ pool: "p", kind: "exec", policy: {}, workspace: "/w", isLive: false, credit: 1024 },
  ...{ queueTimeoutMs: 60_000, input: { argv: ["true"] } },
};

type Says = ReturnType<typeof workerSays>;

/** Lets a worker say something of a run, and decline it; then another one asks for runs. */
async function declinedAfter(tell: (says: Says, run: number) => void, why = "busy") {
  const connection = new FakeConnection();
  const caller = new Caller(connection.asConnection, "t");
  await turn();
  const heard: string[] = [];
  const run = caller.run(kRequest, {
    out: (_, bytes) => heard.push(Buffer.from(bytes).toString()),
  });
  let end: RunEnd | undefined;
  void run.end.then((settled) => {
    end = settled;
  });
  const [first, second] = ["w.1", "w.2"].map((each) => workerSays(connection, caller, "p", each));
  const pull = { t: "pull", pool: "p", n: 1, lease: 1 };
  first?.(pull);
  await turn();
  if (first) tell(first, run.number);
  first?.({ t: "decline", run: run.number, attempt: 1, why });
  second?.(pull);
  await turn();
  const out = { t: "out", run: run.number, ack: 0, stream: 1 };
  second?.({ ...out, seq: 1, at: 0 }, Buffer.from("of the second"));
  const rest = { rest: [], free: 0, lease: 1, pool: "p", sent: [13, 0] };
  second?.({ t: "end", run: run.number, attempt: 2, value: null, ...rest });
  await turn();
  const grants = connection.all("grant").map(({ subject }) => subject);
  caller.abort(run);
  await caller.close();
  return { end, heard: heard.join(), grants };
}

test("one that nothing was told of is another's, and so is its output", async () => {
  const { end, heard, grants } = await declinedAfter(() => {});
  expect(grants).toEqual(["nr1.w.p.w.1.t", "nr1.w.p.w.2.t"]);
  expect(end).toMatchObject({ kind: "ended" });
  expect(heard).toBe("of the second");
});

const kNumbered = { seq: 1, ack: 0 };
const kTold: Record<string, { says: Parameters<Says>[0]; started: string }> = {
  "has begun": { says: { t: "began", ...kNumbered, value: null }, started: "yes" },
  "has output": { says: { t: "out", ...kNumbered, stream: 1, at: 0 }, started: "yes" },
  "says something that is not its turn": {
    says: { t: "out", seq: 7, ack: 0, stream: 1, at: 0 },
    started: "unknown",
  },
};

test.each(Object.entries(kTold))("one that %s is lost, and nobody else's", async (_, told) => {
  for (const why of ["busy", "stale", "draining", "unfit"]) {
    const { end, heard, grants } = await declinedAfter(
      (says, run) => says({ run, ...told.says }, Buffer.from("of the first")),
      why,
    );
    expect(grants).toEqual(["nr1.w.p.w.1.t"]);
    expect(end).toMatchObject({
      ...{ kind: "lost", started: told.started, ended: "unproved" },
      reason: "its worker w.1 reported on it, and then that it was not started",
    });
    expect(heard).not.toContain("of the second");
  }
});
