/** A worker reports the start of each run that lasts, so that a caller that loses the worker knows that it was started. */

import { expect, test } from "vitest";

import type { SandboxedExecResult } from "../../../types/public.js";
import { workerWorld } from "../../support/remote/worker-world.js";
import { eventually } from "../../support/waits.js";

const result = {
  stdout: new Uint8Array(0),
  stderr: new Uint8Array(0),
  outcome: { kind: "exited" },
};
const whole = result as unknown as SandboxedExecResult;

test.each(["exec", "batch"] as const)("a command of %s is reported once it lasts", async (kind) => {
  let finish = () => {};
  const done = new Promise<void>((resolve) => {
    finish = resolve;
  });
  const { connection, grant, worker } = workerWorld({
    exec: () => done.then(() => whole),
    execBatch: () => done.then(() => [whole]),
  });
  grant(1, {
    kind,
    input: { argv: ["x"], commands: [{ argv: ["x"] }], options: {}, lengths: [null] },
  });
  await eventually("it is reported", () => connection.all("began").length === 1);
  expect(connection.all("began")[0]?.header).toMatchObject({ run: 1 });
  finish();
  await eventually("it has ended", () => connection.all("end").length === 1);
  await worker.stop();
});

test("one that ends at once is reported by its end alone", async () => {
  const { connection, grant, worker } = workerWorld({ exec: async () => whole });
  grant(1);
  await eventually("it has ended", () => connection.all("end").length === 1);
  expect(connection.all("began")).toEqual([]);
  await worker.stop();
});
