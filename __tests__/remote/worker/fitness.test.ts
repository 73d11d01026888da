/** A worker that can make no sandbox takes no runs until it can, and spoils none meanwhile. */

import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { setUpOf } from "../../../lib/remote/worker/fitness.js";
import type { SandboxedExecResult } from "../../../types/public.js";
import { placesOf, workerWorld } from "../../support/remote/worker-world.js";

beforeEach(() => {
  vi.useFakeTimers({
    toFake: [
      "setTimeout",
      "clearTimeout",
      "setInterval",
      "clearInterval",
      "setImmediate",
      "performance",
    ],
  });
});
afterEach(() => {
  vi.useRealTimers();
});

const resultOf = (kind: string) =>
  ({
    stdout: new Uint8Array(0),
    stderr: new Uint8Array(0),
    outcome: { kind, reason: "no user namespaces" },
  }) as unknown as SandboxedExecResult;

function world() {
  const made = {
    outcome: "setup-failed",
    isFit: false,
    canaries: 0,
    told: [] as (string | undefined)[],
  };
  const place = { exec: async () => resultOf(made.outcome) };
  const canary = async () => {
    made.canaries += 1;
    if (!made.isFit) throw new Error("no user namespaces");
  };
  const own = workerWorld(place, {
    places: placesOf(place, { canary }),
    slots: 4,
    fitnessChanged: (why) => made.told.push(why),
  });
  const pass = (ms = 1) => vi.advanceTimersByTimeAsync(ms);
  return { ...own, made, pass };
}

const declines = ({ connection }: ReturnType<typeof world>) =>
  connection.all("decline").map(({ header }) => header.why);

test("failing set-ups take a worker out, and it comes back by itself", async () => {
  const own = world();
  const { made, grant, pass, worker, connection } = own;
  for (const run of [1, 2]) {
    grant(run);
    await pass();
  }
  await pass(50); // the subscription that invites runs closes soon
  expect(made).toMatchObject({ canaries: 1, told: ["no user namespaces"] });
  expect(worker.state()).toMatchObject({ unfit: "no user namespaces", canaryFailures: 1 });
  const subjects = () => [...connection.subscriptions].map(({ subject }) => subject);
  expect(subjects()).not.toContain("nr1.free.p.*");
  grant(3);
  await pass();
  expect(declines(own)).toEqual(["unfit"]);
  await pass(1_000);
  expect(made.canaries).toBe(2);
  made.isFit = true;
  made.outcome = "exited";
  await pass(2_000);
  expect(made.told).toEqual(["no user namespaces", undefined]);
  expect(subjects()).toContain("nr1.free.p.*");
  grant(4);
  await pass();
  const ended = new Set(connection.all("end").map(({ header }) => header.run)); // each is repeated
  expect([...ended].sort()).toEqual([1, 2, 4]);
  await worker.stop();
});

test("set-ups that fail by what callers ask take no worker out, and cause few canaries", async () => {
  const own = world();
  const { made, grant, pass, worker } = own;
  made.isFit = true;
  for (let run = 1; run <= 40; run += 1) {
    grant(run);
    await pass();
  }
  expect(declines(own)).toEqual([]);
  expect(made).toMatchObject({ canaries: 1, told: [] });
  await worker.stop();
});

test("failures soon after a canary have another asked, though no run follows", async () => {
  const own = world();
  const { made, grant, pass, worker } = own;
  made.isFit = true;
  await worker.check(); // as at its start
  made.isFit = false;
  for (const run of [1, 2, 3]) {
    grant(run);
    await pass();
  }
  expect(made.canaries).toBe(1);
  await pass(5_000);
  expect(made.canaries).toBe(2);
  expect(worker.state().unfit).toBe("no user namespaces");
  await worker.stop();
});

test("a worker that can make none at its start takes none", async () => {
  const own = world();
  await own.worker.check();
  own.grant(1);
  await own.pass();
  expect(declines(own)).toEqual(["unfit"]);
  await own.worker.stop();
});

test.each([
  [{ outcome: { kind: "exited" } }, undefined, true],
  [{ outcome: { kind: "setup-failed" } }, undefined, false],
  [[{ outcome: { kind: "setup-failed" } }], undefined, false],
  [undefined, { code: "ERR_SANDBOX_SETUP" }, false],
  [undefined, { code: "ERR_INVALID_ARG_VALUE" }, undefined],
  ["it was closed", undefined, undefined],
])("%j with the error %j tells %s", (value, error, isSetUp) => {
  expect(setUpOf(value, error)).toBe(isSetUp);
});
