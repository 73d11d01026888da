/** What lib makes of a lease: the addon's handle is handed over, and anything else is, to be refused. */

import { beforeEach, describe, expect, it, vi } from "vitest";

import { LandlockNativeRunner, Lease, type NativeExecInput } from "../../lib/index.js";
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

const runner = () => new LandlockNativeRunner({ shadowDir: "/w" });

/** What the addon was given as `lease`. */
async function handedOver(lease: unknown): Promise<unknown> {
  const running = runner().exec({ argv: ["a"], lease } as NativeExecInput);
  const handed = fake.run(fake.runs.length - 1);
  handed.resolve(result());
  await running;
  return (handed.request as { lease?: unknown }).lease;
}

describe("a lease", () => {
  it("is the addon's", () => {
    const lease = new Lease({ ms: 5 });
    expect(lease.renew()).toBe(true);
    expect(lease.expired).toBe(false);
    expect(lease.ms).toBe(1);
  });

  it("comes to the addon as its own", async () => {
    const lease = new Lease({ ms: 5 });
    const handle = await handedOver(lease);
    expect(handle).not.toBe(lease);
    expect(handle).toHaveProperty("hasExpired");
    expect(await handedOver(lease)).toBe(handle);
  });

  it.each([undefined, null, 5, { ms: 5, expired: false, renew: () => true }])(
    "and what is none, %j, as it is",
    async (value) => {
      expect(await handedOver(value)).toBe(value);
    },
  );

  it("comes to it with spawn, too", async () => {
    const lease = new Lease({ ms: 5 });
    const starting = runner().spawn({ argv: ["a"], lease });
    await new Promise(setImmediate);
    fake.run().live?.onEvent("started");
    await starting;
    expect(fake.run().live?.lease).toHaveProperty("hasExpired");
  });
});
