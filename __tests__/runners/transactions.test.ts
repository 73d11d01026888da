/** What lib adds around the transactions of a runner: how they are opened, also as copies, and listed. */

import { beforeEach, describe, expect, it, vi } from "vitest";

import { BubblewrapNativeRunner, SandboxError } from "../../lib/index.js";
import { type FakeAddon, nativeError } from "../support/fake-addon.js";
import { freshAddon, withoutAddon } from "../support/fake-native.js";

vi.mock(import("../../lib/native.js"), async (importOriginal) => {
  const { fakeNative } = await import("../support/fake-native.js");
  return fakeNative(await importOriginal());
});

let fake: FakeAddon;
beforeEach(() => {
  fake = freshAddon();
});

const make = () => new BubblewrapNativeRunner({ shadowDir: "/w", network: "allow" });
const reported = () => fake.reported.map(([what]) => what);

describe("openTransaction", () => {
  it("gives a runner with the runner's options", async () => {
    const transaction = await make().openTransaction({ directory: "/state" });
    expect(transaction).toMatchObject({ id: "0123456789ab", backend: "overlay" });
    expect(fake.reported).toEqual([["open", { workspace: "/w", directory: "/state" }]]);
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
    expect(fake.reported).toEqual([["open", { workspace: "/w", directory }]]);
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
    withoutAddon();
    const code = "ERR_SANDBOX_UNAVAILABLE";
    await expect(runner.openTransaction()).rejects.toMatchObject({ code });
  });
});

describe("a copy", () => {
  const opened = { id: "0123456789ab", backend: "copy" } as const;

  it("gets its options, and is told of", async () => {
    fake.copies = async () => ({ ...opened, backendReason: "no overlay" });
    const runner = new BubblewrapNativeRunner({ shadowDir: "/w", bwrapPath: "/b" });
    const options = { directory: "/state", backend: "auto", maxBytes: 5 } as const;
    const transaction = await runner.openTransaction(options);
    expect(transaction).toMatchObject({ backend: "copy", backendReason: "no overlay" });
    expect(fake.reported).toEqual([["open", { workspace: "/w", bwrapPath: "/b", ...options }]]);
  });

  it("tells its progress, and at last all of it", async () => {
    const progress: object[] = [];
    let late: ((reported: { files: number; bytes: number }) => void) | undefined;
    fake.copies = async ({ onProgress }) => {
      onProgress?.({ files: 1, bytes: 2 });
      late = onProgress;
      return { ...opened, copied: { files: 3, bytes: 4 } };
    };
    await make().openTransaction({ onProgress: (now) => progress.push(now) });
    late?.({ files: 2, bytes: 3 });
    expect(progress).toEqual([
      { files: 1, bytes: 2 },
      { files: 3, bytes: 4 },
    ]);
  });

  it("is stopped by a callback that throws, which is told of once", async () => {
    const thrown = new Error("mine");
    const onProgress = vi.fn(() => {
      throw thrown;
    });
    fake.copies = async (options) => {
      options.onProgress?.({ files: 1, bytes: 2 });
      options.onProgress?.({ files: 2, bytes: 2 });
      throw nativeError("copying was stopped", "ERR_SANDBOX_CLOSED");
    };
    await expect(make().openTransaction({ onProgress })).rejects.toBe(thrown);
    expect(onProgress).toHaveBeenCalledOnce();
    expect(reported()).toEqual(["open", "stop"]);
  });

  it("is stopped by a signal, also where it is there by then", async () => {
    const controller = new AbortController();
    const reason = new Error("enough");
    fake.copies = async () => {
      controller.abort(reason);
      return opened;
    };
    const opening = make().openTransaction({ signal: controller.signal });
    await expect(opening).rejects.toBe(reason);
    expect(reported()).toEqual(["open", "stop", "discard"]);
    const early = make().openTransaction({ signal: controller.signal });
    await expect(early).rejects.toBe(reason);
    expect(reported(), "nothing is begun").toHaveLength(3);
  });

  it("is made when it is opened: nothing is said of that when it is resumed", async () => {
    const options = { maxBytes: 1 } as object;
    const resuming = make().resumeTransaction("0123456789ab", options);
    const code = "ERR_INVALID_ARG_VALUE";
    await expect(resuming).rejects.toMatchObject({
      code,
      message: expect.stringContaining('"maxBytes"'),
    });
    expect(fake.reported).toEqual([]);
  });
});

describe("transactions", () => {
  const listed = {
    id: "0123456789ab",
    workspace: "/w",
    backend: "overlay",
    state: "closed",
  } as const;

  it("are those of the directory, with a Date", async () => {
    fake.listed = [{ ...listed, createdMs: 1000 }];
    const createdAt = new Date(1000);
    expect(await make().transactions({ directory: "/s" })).toEqual([{ ...listed, createdAt }]);
    expect(fake.reported).toEqual([["list", { directory: "/s" }]]);
  });

  it.each([
    [{ directory: 1 }, "ERR_INVALID_ARG_TYPE", "`directory`"],
    [{ dirctory: "/s" }, "ERR_INVALID_ARG_VALUE", "did you mean `directory`"],
    [null, "ERR_INVALID_ARG_TYPE", "`options`"],
  ])("take %j for a mistake", async (options, code, named) => {
    const failure = await make()
      .transactions(options as never)
      .catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(TypeError);
    expect(failure).toMatchObject({ code, message: expect.stringContaining(named) });
    expect(fake.reported).toEqual([]);
  });

  it("say why they can't be told, as a SandboxError", async () => {
    fake.openFailure = nativeError("it is another user's", "ERR_SANDBOX_SETUP", "do that");
    const failure = await make()
      .transactions()
      .catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(SandboxError);
    expect(failure).toMatchObject({ code: "ERR_SANDBOX_SETUP", fix: "do that" });
  });

  it("are not told by a runner that was closed", async () => {
    const runner = make();
    await runner.close();
    await expect(runner.transactions()).rejects.toMatchObject({ code: "ERR_SANDBOX_CLOSED" });
  });
});
