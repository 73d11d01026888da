/** What lib adds around transactions: their options, their end, and the runner's. */

import { beforeEach, describe, expect, it, vi } from "vitest";

import { BubblewrapNativeRunner, SandboxError } from "../../lib/index.js";
import { FakeAddon, nativeError, result } from "../support/fake-addon.js";

const seam = vi.hoisted(() => ({ fake: undefined as FakeAddon | undefined }));

vi.mock(import("../../lib/native.js"), async (importOriginal) => ({
  ...(await importOriginal()),
  loadAddon: () => {
    if (!seam.fake) throw new SandboxError("no addon", { code: "ERR_SANDBOX_UNAVAILABLE" });
    return seam.fake.addon;
  },
}));

let fake: FakeAddon;
beforeEach(() => {
  fake = new FakeAddon();
  seam.fake = fake;
});

const make = () => new BubblewrapNativeRunner({ shadowDir: "/w", network: "allow" });
const told = () => fake.told.map(([what]) => what);

describe("openTransaction", () => {
  it("gives a runner with the runner's options", async () => {
    const transaction = await make().openTransaction({ directory: "/state" });
    expect(transaction).toMatchObject({ id: "0123456789ab", backend: "overlay" });
    expect(fake.told).toEqual([["open", { workspace: "/w", directory: "/state" }]]);
    expect(fake.options.at(-1)).toMatchObject({ shadowDir: "/w", network: "allow" });
  });

  it.each([
    ["/x", "/x/openagentic/transactions"],
    ["relative", "/home/u/.local/state/openagentic/transactions"],
    ["", "/home/u/.local/state/openagentic/transactions"],
  ])("keeps them in the user's state (XDG_STATE_HOME %j)", async (state, directory) => {
    vi.stubEnv("XDG_STATE_HOME", state);
    vi.stubEnv("HOME", "/home/u");
    await make().openTransaction();
    vi.unstubAllEnvs();
    expect(fake.told).toEqual([["open", { workspace: "/w", directory }]]);
  });

  it("says why there is none, as a SandboxError", async () => {
    fake.openFailure = nativeError("no overlay", "ERR_SANDBOX_UNAVAILABLE", "do that");
    const failure = await make()
      .openTransaction()
      .catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(SandboxError);
    expect(failure).toMatchObject({ code: "ERR_SANDBOX_UNAVAILABLE", fix: "do that" });
  });

  it("rejects where there is no addon", async () => {
    const runner = make();
    seam.fake = undefined;
    const code = "ERR_SANDBOX_UNAVAILABLE";
    await expect(runner.openTransaction()).rejects.toMatchObject({ code });
  });
});

describe("what the host has", () => {
  it("is looked at after each run, once for those that end meanwhile", async () => {
    const transaction = await make().openTransaction();
    const runs = [1, 2, 3].map(() => transaction.exec({ argv: ["true"] }));
    await vi.waitFor(() => expect(fake.runs).toHaveLength(3));
    expect(told()).toEqual(["open"]);
    for (const run of fake.runs) run.resolve(result());
    await Promise.all(runs);
    await vi.waitFor(() => expect(told()).toEqual(["open", "look", "look"]));
  });
});

describe("the end of a transaction", () => {
  it("comes after that of its runner's pool", async () => {
    const transaction = await make().openTransaction();
    await transaction.close();
    expect(fake.closed).toBe(1);
    await transaction.discard();
    await transaction.discard();
    expect(told()).toEqual(["open", "close", "discard"]);
  });

  it("is final for its commands", async () => {
    const transaction = await make().openTransaction();
    await transaction.close();
    const closed = { code: "ERR_SANDBOX_CLOSED", message: "the transaction was closed" };
    await expect(transaction.exec({ argv: ["true"] })).rejects.toMatchObject(closed);
    await expect(transaction.warm()).rejects.toMatchObject(closed);
  });

  it("comes with the runner's, which keeps it", async () => {
    const runner = make();
    await runner.openTransaction();
    await runner.openTransaction();
    await runner.close();
    expect(told()).toEqual(["open", "open", "close", "close"]);
    const closed = { code: "ERR_SANDBOX_CLOSED", message: "the runner was closed" };
    await expect(runner.openTransaction()).rejects.toMatchObject(closed);
    expect(told()).toHaveLength(4);
  });

  it("comes at once for one that is up after the runner was closed", async () => {
    const runner = make();
    const opening = runner.openTransaction();
    await runner.close();
    await expect(opening).rejects.toMatchObject({ code: "ERR_SANDBOX_CLOSED" });
    expect(told()).toEqual(["open", "discard"]);
  });
});
