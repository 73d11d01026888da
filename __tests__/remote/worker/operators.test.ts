/** A worker that an operator lists, cordons and drains: the operator's name is that of the subject, and no tenant is one. */

import { expect, test } from "vitest";

import { workersText } from "../../../lib/cli/worker/workers.js";
import type { SandboxedExecResult } from "../../../types/public.js";
import { workerWorld } from "../../support/remote/worker-world.js";
import { eventually } from "../../support/waits.js";

const ended = {
  stdout: new Uint8Array(0),
  stderr: new Uint8Array(0),
  outcome: { kind: "exited" },
} as unknown as SandboxedExecResult;

function world() {
  const operated: string[] = [];
  const own = workerWorld(
    { exec: async () => ended },
    { operated: (what, operator) => void operated.push(`${operator} ${what}`) },
  );
  const { connection } = own;
  const isOpen = () => [...connection.subscriptions].some(({ queue }) => queue === "free");
  const operate = (what: string, subject = "nr1.op.p.w.ada") =>
    connection.deliver(subject, Object.assign({ t: "operate" }, { ask: "q1", what }));
  const reports = () => connection.all("report");
  return { ...own, operated, isOpen, operate, reports };
}

test("answers who asks for a list, and counts no tenant", async () => {
  const { connection, reports, worker } = world();
  connection.deliver("nr1.list.ada", Object.assign({ t: "list" }, { ask: "q7" }));
  expect(reports()).toMatchObject([
    {
      subject: "nr1.o.ada.w.p.w",
      header: {
        ...{ ask: "q7", isDraining: false, isCordoned: false, slots: 2, running: 0, waiting: 0 },
        ...{ starts: 0, uptime: 0, process: worker.id.split(".")[1] },
      },
    },
  ]);
  expect(worker.state()).toMatchObject({ running: {}, waiting: {}, badFrames: 0 });
  await worker.stop();
});

test("takes no runs while it is cordoned, and takes them again", async () => {
  const { connection, grant, isOpen, operate, operated, reports, worker } = world();
  expect(isOpen()).toBe(true);
  operate("cordon");
  expect(reports()[0]?.header).toMatchObject({ isCordoned: true, isDraining: false });
  expect(worker.state().cordonedBy).toBe("ada");
  await eventually("its door is shut", () => !isOpen());
  grant(1);
  const declined = () => connection.all("decline").map(({ header }) => header.why);
  await eventually("the grant is declined", () => declined().length > 0);
  expect(declined()).toEqual(["unfit"]);
  operate("uncordon");
  expect(isOpen()).toBe(true);
  expect(worker.state().cordonedBy).toBeUndefined();
  expect(operated).toEqual(["ada cordon", "ada uncordon"]);
  connection.deliver("nr1.want.p.t", Object.assign({ t: "want" }, { caller: "k", n: 1 }));
  await eventually("it asks for the run", () => connection.all("pull").length > 0);
  await worker.stop();
});

test("drains, and says so to whom it is told by", async () => {
  const { isOpen, operate, operated, reports, worker } = world();
  operate("drain");
  expect(reports()[0]?.header).toMatchObject({ isDraining: true });
  expect(isOpen()).toBe(false);
  expect(operated).toEqual(["ada drain"]);
  await worker.drain();
  await worker.stop();
});

test.each([
  ["of another kind", { t: "operate", ask: "q", what: "stop" }],
  ["without a number", { t: "operate", what: "drain" }],
  ["with a number that is no token", { t: "operate", what: "drain", ask: "a.b" }],
  ["of a caller", { t: "want", caller: "k", n: 1 }],
])("drops a message %s", async (_what, message) => {
  const { connection, operated, reports, worker } = world();
  connection.deliver("nr1.op.p.w.ada", message);
  expect([operated, reports()]).toEqual([[], []]);
  expect(worker.state()).toMatchObject({ isDraining: false, cordonedBy: undefined });
  await worker.stop();
});

test("a caller's message on its own subject operates nothing", async () => {
  const { says, operated, worker } = world();
  says({ t: "operate", caller: "k", ask: "q", what: "drain" } as never);
  expect(operated).toEqual([]);
  expect(worker.state()).toMatchObject({ isDraining: false, badFrames: 1 });
  await worker.stop();
});

test("are one line each, and what a worker says is escaped", () => {
  const of = { process: "a", version: "1.0.0", isDraining: false, isCordoned: false, slots: 8 };
  const one = { ...of, pool: "build", name: "w1", running: 3, waiting: 0, starts: 12, uptime: 180 };
  const rows = [
    one,
    { ...one, name: "w2", isCordoned: true },
    { ...one, name: "w3", isDraining: true, isCordoned: true },
    { ...one, name: "w4", unfit: "bwrap: \u001b[2Jno" },
  ];
  expect(workersText(rows, false)).toBe(`\
WORKER    SLOTS  RUNS  WAITING  STARTS     UP  VERSION  STATE
build/w1      8     3        0      12  3 min  1.0.0    ready
build/w2      8     3        0      12  3 min  1.0.0    cordoned
build/w3      8     3        0      12  3 min  1.0.0    draining
build/w4      8     3        0      12  3 min  1.0.0    unfit: bwrap: ^[[2Jno
`);
  expect(workersText([], false)).toBe("no workers\n");
});
