/** A worker that is to end: nothing new, what is open goes on until a deadline, and hears then why it has ended. */

import { expect, test } from "vitest";

import type { SandboxedExecResult } from "../../../types/public.js";
import { workerWorld } from "../../support/remote/worker-world.js";
import { eventually } from "../../support/waits.js";

const whole = {
  stdout: new Uint8Array(0),
  stderr: new Uint8Array(0),
  outcome: { kind: "exited" },
} as unknown as SandboxedExecResult;

/** A session that is open until it is closed. */
function session() {
  let close = (_reason: string) => {};
  const ended = new Promise<string>((resolve) => {
    close = resolve;
  });
  const own = { layers: [], shares: [], ended, exec: async () => whole };
  return { ...own, close: async () => close("it was closed") } as never;
}

function world() {
  const own = workerWorld({ exec: async () => whole, openSession: async () => session() });
  const { connection } = own;
  const confirm = (...ended: number[]) =>
    own.says(
      Object.assign(
        { t: "echo", caller: "k" },
        { at: 0, saidAt: 0, receipts: [], ended, oldest: 0 },
      ),
    );
  const endOf = (run: number) =>
    connection.all("end").find(({ header }) => header.run === run)?.header;
  return { ...own, confirm, endOf };
}

test("lets commands in open sessions start, and nothing else", async () => {
  const { connection, grant, worker, says, confirm, endOf } = world();
  grant(1, { kind: "session", input: {} });
  await eventually("open", () => connection.all("began").length === 1);
  const drained = worker.drain();
  grant(2, { inside: 1 });
  grant(3);
  await eventually("the command has ended", () => endOf(2) !== undefined);
  expect(endOf(2)).toMatchObject({ value: { outcome: { kind: "exited" } } });
  expect(connection.all("decline").map(({ header }) => [header.run, header.why])).toEqual([
    [3, "draining"],
  ]);
  expect(endOf(1)).toBeUndefined();
  says({ t: "abort", caller: "k", run: 1 } as never);
  await eventually("the session has ended", () => endOf(1) !== undefined);
  expect(endOf(1)?.value).toBe("it was closed");
  confirm(1, 2);
  await drained;
  await worker.stop();
});

test("ends open sessions at its deadline, and says why", async () => {
  const { connection, grant, worker, confirm, endOf } = world();
  grant(1, { kind: "session", input: {} });
  await eventually("open", () => connection.all("began").length === 1);
  const drained = worker.drain(20);
  await eventually("ended", () => endOf(1) !== undefined);
  expect(endOf(1)?.value).toMatch("its worker was shut down");
  confirm(1);
  await drained;
  await worker.stop();
});

test("a session in which nothing is done does not hold its slot for ever", async () => {
  let finish = () => {};
  const busy = new Promise<void>((resolve) => {
    finish = resolve;
  });
  const { connection, grant, worker } = workerWorld(
    {
      openSession: async () =>
        Object.assign(session() as object, { exec: () => busy.then(() => whole) }) as never,
    },
    { idleMs: 40 },
  );
  const ended = (run: number) =>
    connection.all("end").find(({ header }) => header.run === run)?.header;
  grant(1, { kind: "session", input: {} });
  await eventually("open", () => connection.all("began").length === 1);
  grant(2, { inside: 1 });
  await eventually("the command runs", () => connection.all("began").length === 2); // after longer than it may be idle
  expect(ended(1)).toBeUndefined();
  finish();
  await eventually("ended", () => ended(1) !== undefined);
  expect(ended(2)).toMatchObject({ value: { outcome: { kind: "exited" } } });
  expect(ended(1)?.value).toMatch("no command or call came for 40 ms");
  await worker.stop();
});
