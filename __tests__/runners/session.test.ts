/** What lib adds around sessions and batches: what they share, closing, and who keeps them. */

import { beforeEach, describe, expect, it, vi } from "vitest";

import { BubblewrapNativeRunner, LandlockNativeRunner, SandboxError } from "../../lib/index.js";
import { type FakeAddon, nativeError, result } from "../support/fake-addon.js";
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
const closed = (message: string) =>
  expect.objectContaining({ name: "SandboxError", code: "ERR_SANDBOX_CLOSED", message });

describe.each([
  ["bubblewrap", () => new BubblewrapNativeRunner({ shadowDir: "/w", prewarm: 0 })],
  ["landlock", () => new LandlockNativeRunner({ shadowDir: "/w" })],
])("a session, %s", (_, make) => {
  it("is made with the runner's options and its own, copied", async () => {
    const options = { maxCommands: 3, shell: true };
    const opening = make().openSession(options);
    options.maxCommands = 4;
    await opening;
    expect(fake.options.at(-1)).toMatchObject({
      shadowDir: "/w",
      session: { maxCommands: 3, shell: true },
    });
  });

  it("says its layers and what its commands share", async () => {
    const shared = ["workspace", "tmp", "network", "ipc", "process-list", "terminals", "limits"];
    const session = await make().openSession();
    expect(session.layers).toEqual(["seccomp", "command-separation", "session"]);
    expect(session.shares).toEqual(shared);
    fake.sessionLayers = ["session"];
    expect((await make().openSession()).shares).toEqual([...shared, "signals"]);
  });

  it("rejects with why it has ended", async () => {
    const session = await make().openSession();
    expect(session.isOpen).toBe(true);
    fake.endSession("a reason");
    expect(await session.ended).toBe("a reason");
    expect(session.isOpen).toBe(false);
    await expect(session.exec({ argv: ["a"] })).rejects.toEqual(
      closed("the session has ended: a reason"),
    );
    expect(fake.runs).toEqual([]);
    await session.close();
  });

  it("aborts what runs in it when it is closed, and waits", async () => {
    const session = await make().openSession();
    const running = session.exec({ argv: ["a"] });
    let isClosed = false;
    const closing = session.close().then(() => {
      isClosed = true;
    });
    expect(session.isOpen).toBe(false);
    await expect(session.exec({ argv: ["b"] })).rejects.toEqual(
      closed("the session has ended: it was closed"),
    );
    expect(fake.aborted).toEqual([0]);
    await turn();
    expect(isClosed).toBe(false);
    fake.run().resolve(result({ exitCode: 130, outcome: { kind: "aborted" } }));
    await closing;
    expect((await running).exitCode).toBe(130);
    await session.close();
    expect(fake.closed).toBe(1);
  });

  it("ends with its runner, opened or not", async () => {
    const runner = make();
    const session = await runner.openSession();
    const opening = runner.openSession();
    const late = expect(opening).rejects.toEqual(closed("the runner was closed"));
    await Promise.all([runner.close(), late]);
    expect(session.isOpen).toBe(false);
    expect(await session.ended).toBe("it was closed");
    await expect(runner.openSession()).rejects.toEqual(closed("the runner was closed"));
    await expect(runner.execBatch([["a"]])).rejects.toEqual(closed("the runner was closed"));
  });

  it("passes on why there is none, with a stack that leads here", async () => {
    fake.refusal = undefined;
    const runner = make();
    fake.refusal = nativeError("no bwrap", "ERR_SANDBOX_UNAVAILABLE", "install it");
    const error = await runner.openSession().catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(SandboxError);
    expect(error).toMatchObject({ code: "ERR_SANDBOX_UNAVAILABLE", fix: "install it" });
  });
});

describe("a batch", () => {
  const runner = () => new BubblewrapNativeRunner({ shadowDir: "/w", prewarm: 0 });
  /** Settles the plans that check the commands, then runs, in order. */
  async function settle(codes: readonly number[]): Promise<void> {
    for (const [index, exitCode] of codes.entries()) {
      while (fake.runs.length <= index) await turn();
      fake.run(index).resolve(result({ exitCode }));
    }
  }

  it("checks all before it runs the first", async () => {
    const done = runner().execBatch([["a"], { argv: ["b"] }]);
    await settle([0, 0, 3, 4]);
    expect((await done).map(({ exitCode }) => exitCode)).toEqual([3, 4]);
    expect(fake.runs.map(({ request }) => request.argv[0])).toEqual(["a", "b", "a", "b"]);
    expect(fake.closed).toBe(1);
  });

  it("hands over those after an error as aborted already", async () => {
    const done = runner().execBatch([["a"], ["b"]], { stopOnError: true });
    await settle([0, 0, 1, 130]);
    await done;
    expect(fake.runs.map(({ context }) => context.isAborted ?? false)).toEqual([
      false,
      false,
      false,
      true,
    ]);
  });

  it.each([
    ["commands", "a", {}],
    ["stopOnError", [], { stopOnError: "x" }],
    ["signal", [], { signal: {} }],
  ])("names a wrong `%s`", async (field, commands, options) => {
    const batch = runner().execBatch(commands as string[][], options as object);
    await expect(batch).rejects.toThrow(`\`${field}\``);
    expect(fake.runs).toEqual([]);
  });

  it("ends its session when a command is misuse", async () => {
    const done = runner().execBatch([["a"], { argv: ["b"], signal: {} as AbortSignal }]);
    void settle([0, 0]);
    await expect(done).rejects.toThrow("`signal`");
    expect(fake.closed).toBe(1);
    expect(fake.runs).toHaveLength(2); // the plans
  });
});
