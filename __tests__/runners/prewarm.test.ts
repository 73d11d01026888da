/** What lib adds around a runner's standing sandboxes: closing, and no runs after it. */

import { beforeEach, describe, expect, it, vi } from "vitest";

import { BubblewrapNativeRunner } from "../../lib/index.js";
import { type FakeAddon, nativeError, result } from "../support/fake-addon.js";
import { freshAddon, withoutAddon } from "../support/fake-native.js";

vi.mock(import("../../lib/native.js"), async (importOriginal) => {
  const { fakeNative } = await import("../support/fake-native.js");
  return fakeNative(await importOriginal());
});

let fake: FakeAddon;
beforeEach(() => {
  fake = freshAddon();
});

const makeRunner = () => new BubblewrapNativeRunner({ shadowDir: "/w", prewarm: 2 });
const kClosed = expect.objectContaining({ name: "SandboxError", code: "ERR_SANDBOX_CLOSED" });

describe("close", () => {
  it("aborts what is under way, and waits for its end and the pool's", async () => {
    const runner = makeRunner();
    const done = runner.exec({ argv: ["a"] });
    const running = runner.exec({ argv: ["b"] });
    fake.run(0).resolve(result());
    await done;
    let isClosed = false;
    const closing = runner.close().then(() => {
      isClosed = true;
    });
    expect(fake.aborted).toEqual([1]);
    expect(fake.closed).toBe(1);
    await new Promise(setImmediate);
    expect(isClosed).toBe(false);
    fake.run(1).resolve(result({ exitCode: 130, outcome: { kind: "aborted" } }));
    await closing;
    expect((await running).outcome.kind).toBe("aborted");
  });

  it("is done once, however often it is called", async () => {
    const runner = makeRunner();
    await Promise.all([runner.close(), runner[Symbol.asyncDispose]()]);
    await runner.close();
    expect(fake.closed).toBe(1);
  });

  it("is the end: exec, explain and warm reject", async () => {
    const runner = makeRunner();
    await runner.close();
    await expect(runner.exec({ argv: ["a"] })).rejects.toEqual(kClosed);
    await expect(runner.explain({ argv: ["a"] })).rejects.toEqual(kClosed);
    await expect(runner.warm()).rejects.toEqual(kClosed);
    expect(fake.runs).toEqual([]);
  });

  it("does nothing without an addon", async () => {
    withoutAddon();
    const runner = makeRunner();
    expect(runner.pool()).toEqual({ standing: 0, taken: 0, missed: 0, discarded: 0 });
    await runner.close();
  });
});

describe("warm", () => {
  it("resolves with how many stand", async () => {
    expect(await makeRunner().warm()).toBe(fake.poolState.standing);
    expect(makeRunner().pool()).toEqual(fake.poolState);
  });

  it("rejects with a SandboxError", async () => {
    fake.warmFailure = nativeError("no shadowDir", "ERR_SANDBOX_SETUP", "make it");
    await expect(makeRunner().warm()).rejects.toEqual(
      expect.objectContaining({ name: "SandboxError", code: "ERR_SANDBOX_SETUP", fix: "make it" }),
    );
  });

  it("rejects where there is no addon", async () => {
    withoutAddon();
    await expect(makeRunner().warm()).rejects.toThrow("no addon");
  });
});
