/** What lib makes of a wait for a port: the addon's answers, and a signal. */

import { beforeEach, expect, it, vi } from "vitest";

import { LandlockNativeRunner, WaitForPortError } from "../../lib/index.js";
import { type FakeAddon, result } from "../support/fake-addon.js";
import { freshAddon } from "../support/fake-native.js";

vi.mock(import("../../lib/native.js"), async (importOriginal) => {
  const { fakeNative } = await import("../support/fake-native.js");
  return fakeNative(await importOriginal());
});

let fake: FakeAddon;
beforeEach(() => {
  fake = freshAddon();
});

const turn = () => new Promise(setImmediate);

async function spawned() {
  const starting = new LandlockNativeRunner({ shadowDir: "/w" }).spawn({ argv: ["a"] });
  await turn();
  fake.run().live?.onEvent("started");
  return starting;
}

it("hands over the port and the options, for a process and for a session", async () => {
  const process = await spawned();
  const waiting = process.waitForPort(80, { timeoutMs: 5, intervalMs: 6 });
  fake.answerPort("listening");
  await waiting;
  const session = await new LandlockNativeRunner({ shadowDir: "/w" }).openSession();
  const inSession = session.waitForPort(81);
  fake.answerPort("listening");
  await inSession;
  expect(fake.reported).toEqual([
    ["waitForPort", 0, 80, { timeoutMs: 5, intervalMs: 6 }],
    ["waitForPort", 0, 81, { timeoutMs: undefined, intervalMs: undefined }],
  ]);
});

it.each([
  ["timed-out", /nothing listens on port 80 after 30000 ms/],
  ["no-sockets", /no sockets/],
  ["unreadable", /can't be read/],
] as const)("rejects with a fix: %s", async (answer, message) => {
  const waiting = (await spawned()).waitForPort(80);
  fake.answerPort(answer);
  const error = await waiting.catch((reason: unknown) => reason);
  expect(error).toBeInstanceOf(WaitForPortError);
  expect(error).toMatchObject({
    code: "ERR_SANDBOX_PORT",
    port: 80,
    message: expect.stringMatching(message),
    fix: expect.any(String),
  });
  expect(error).not.toHaveProperty("outcome");
});

it("rejects with the outcome of a process that has ended", async () => {
  const waiting = (await spawned()).waitForPort(80);
  fake.answerPort("gone");
  fake.run().resolve(result({ exitCode: 3 }));
  await expect(waiting).rejects.toMatchObject({
    code: "ERR_SANDBOX_PORT",
    outcome: { kind: "exited" },
    message: expect.stringContaining("exit code 3"),
  });
});

it("stops when its signal is aborted, and does not begin where it already is", async () => {
  const process = await spawned();
  const controller = new AbortController();
  const waiting = process.waitForPort(80, { signal: controller.signal });
  const reason = new Error("enough");
  controller.abort(reason);
  await expect(waiting).rejects.toBe(reason);
  expect(fake.reported.at(-1)).toEqual(["stopWait", 7]);
  fake.reported.length = 0;
  await expect(process.waitForPort(80, { signal: controller.signal })).rejects.toBe(reason);
  expect(fake.reported).toEqual([]);
});
