/** What lib adds around the addon's exec: abort, streaming, errors, the context. All runners. */

import { createHash } from "node:crypto";
import { getEventListeners } from "node:events";
import { beforeEach, describe, expect, it, vi } from "vitest";

import {
  BubblewrapNativeRunner,
  FirejailNativeRunner,
  LandlockNativeRunner,
  LocalNativeRunner,
  SandboxError,
} from "../../lib/index.js";
import type { LoaderHost } from "../../lib/native.js";
import type { NativeExecInput } from "../../types/public.js";
import { FakeAddon, nativeError, result } from "../support/fake-addon.js";

const seam = vi.hoisted(() => ({ platform: "linux", fake: undefined as FakeAddon | undefined }));

vi.mock(import("../../lib/native.js"), async (importOriginal) => {
  const original = await importOriginal();
  const describeHost = (): LoaderHost => ({
    platform: seam.platform,
    arch: "x64",
    libc: () => "glibc",
    root: "/opt/pkg",
    preset: undefined,
    exists: () => true,
    load: () => seam.fake?.addon,
  });
  // A loader for each use, so that each test has a fake of its own.
  return { ...original, loadAddon: () => original.createAddonLoader(describeHost)() };
});

let fake: FakeAddon;
beforeEach(() => {
  fake = new FakeAddon();
  seam.fake = fake;
  seam.platform = "linux";
});

const kInput: NativeExecInput = { argv: ["true"] };
const bytes = (text: string) => new TextEncoder().encode(text);

describe.each([
  ["BubblewrapNativeRunner", () => new BubblewrapNativeRunner({ shadowDir: "/w" })],
  ["LandlockNativeRunner", () => new LandlockNativeRunner({ shadowDir: "/w" })],
  ["FirejailNativeRunner", () => new FirejailNativeRunner({ shadowDir: "/w" })],
  ["LocalNativeRunner", () => new LocalNativeRunner({ shadowDir: "/w" })],
])("%s.exec", (_name, makeRunner) => {
  it("hands the input over and resolves with the addon's result", async () => {
    const input = {
      argv: ["cat"],
      cwd: "a",
      env: { A: "1" },
      stdin: bytes("x"),
      limits: { timeoutMs: 5 },
    };
    const running = makeRunner().exec(input);
    const expected = result({ exitCode: 3 });
    fake.run().resolve(expected);
    await expect(running).resolves.toBe(expected);
    expect(fake.run().request).toMatchObject(input);
  });

  it("gives the policy's hash, computed once", async () => {
    const runner = makeRunner();
    for (const index of [0, 1]) {
      const running = runner.exec(kInput);
      fake.run(index).resolve(result());
      await running;
    }
    const hash = createHash("sha256").update("native-runner-policy 1\n").digest("hex");
    expect(fake.runs.map((run) => run.context)).toEqual([
      { policyHash: hash },
      { policyHash: hash },
    ]);
    expect(fake.policyTextCalls).toBe(1);
  });

  it("reads each field of the input once", async () => {
    const reads: string[] = [];
    const input = new Proxy(kInput, {
      get: (target, name) => {
        reads.push(String(name));
        return Reflect.get(target, name);
      },
    });
    const running = makeRunner().exec(input);
    fake.run().resolve(result());
    await running;
    expect(reads).toHaveLength(new Set(reads).size);
  });

  it("never throws, only rejects, with the addon's error", async () => {
    const misuse = Object.assign(new TypeError("argv"), { code: "ERR_INVALID_ARG_TYPE" });
    fake.refusal = undefined;
    const runner = makeRunner();
    fake.refusal = misuse;
    const running = runner.exec(kInput);
    await expect(running).rejects.toBe(misuse);
  });

  it.each([undefined, null, "text", 7])(
    "leaves it to the addon to refuse the input %j",
    async (input) => {
      const runner = makeRunner();
      const misuse = new TypeError("input");
      fake.refusal = misuse;
      await expect(runner.exec(input as unknown as NativeExecInput)).rejects.toBe(misuse);
    },
  );

  it("turns a sandbox code into a SandboxError whose stack leads to the caller", async () => {
    async function theCaller() {
      const running = makeRunner().exec(kInput);
      fake.run().reject(nativeError("bwrap not found", "ERR_SANDBOX_UNAVAILABLE", "install it"));
      return await running;
    }
    const error = await theCaller().catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(SandboxError);
    expect(error).toMatchObject({ code: "ERR_SANDBOX_UNAVAILABLE", fix: "install it" });
    expect((error as Error).stack).toContain("theCaller");
  });

  it("rejects where there is no addon, though the runner can be made", async () => {
    seam.platform = "win32";
    const running = makeRunner().exec(kInput);
    await expect(running).rejects.toThrow(SandboxError);
    await expect(running).rejects.toThrow("needs Linux, this is win32");
    seam.platform = "linux";
  });

  it("aborts the run when the signal is, and stops listening when it settles", async () => {
    const controller = new AbortController();
    const running = makeRunner().exec({ ...kInput, signal: controller.signal });
    expect(getEventListeners(controller.signal, "abort")).toHaveLength(1);
    expect(fake.aborted).toEqual([]);
    controller.abort();
    expect(fake.aborted).toEqual([0]);
    fake.run().resolve(result({ exitCode: 130, outcome: { kind: "aborted" } }));
    await expect(running).resolves.toMatchObject({ exitCode: 130 });
    expect(getEventListeners(controller.signal, "abort")).toHaveLength(0);
  });

  it("stops listening after a failed run as well", async () => {
    const controller = new AbortController();
    const running = makeRunner().exec({ ...kInput, signal: controller.signal });
    fake.run().reject(new Error("gone"));
    await expect(running).rejects.toThrow("gone");
    expect(getEventListeners(controller.signal, "abort")).toHaveLength(0);
    controller.abort();
    expect(fake.aborted).toEqual([]);
  });

  it("hears of the abort though another listener stops the event", async () => {
    const controller = new AbortController();
    controller.signal.addEventListener("abort", (event) => event.stopImmediatePropagation());
    const running = makeRunner().exec({ ...kInput, signal: controller.signal });
    controller.abort();
    expect(fake.aborted).toEqual([0]);
    fake.run().resolve(result());
    await running;
  });

  it("lets one signal serve many runs without a warning", async () => {
    const warn = vi.spyOn(process, "emitWarning").mockReturnValue();
    const { signal } = new AbortController();
    const runner = makeRunner();
    const running = Array.from({ length: 20 }, () => runner.exec({ ...kInput, signal }));
    expect(getEventListeners(signal, "abort")).toHaveLength(1);
    for (const run of fake.runs) run.resolve(result());
    await Promise.all(running);
    expect(getEventListeners(signal, "abort")).toHaveLength(0);
    expect(warn).not.toHaveBeenCalled();
    warn.mockRestore();
  });

  it("aborts at once with a signal that already is", async () => {
    const running = makeRunner().exec({ ...kInput, signal: AbortSignal.abort() });
    expect(fake.run().context).toMatchObject({ isAborted: true }); // reported before it can start
    expect(fake.aborted).toEqual([0]);
    fake.run().resolve(result({ exitCode: 130, outcome: { kind: "aborted" } }));
    await expect(running).resolves.toMatchObject({ outcome: { kind: "aborted" } });
  });

  it.each([null, "x", 1, {}, new AbortController(), () => {}])(
    "rejects the signal %j and starts nothing",
    async (signal) => {
      const input = { ...kInput, signal } as unknown as NativeExecInput;
      await expect(makeRunner().exec(input)).rejects.toThrow(
        expect.objectContaining({
          name: "TypeError",
          code: "ERR_INVALID_ARG_TYPE",
          message: expect.stringContaining("signal"),
        }),
      );
      expect(fake.runs).toHaveLength(0);
    },
  );

  it.each(["onStdout", "onStderr"] as const)("streams to %s", async (field) => {
    const chunks: Uint8Array[] = [];
    const running = makeRunner().exec({
      ...kInput,
      [field]: (chunk: Uint8Array) => chunks.push(chunk),
    });
    const { request, resolve } = fake.run();
    request[field]?.(bytes("a"));
    request[field]?.(bytes("b"));
    resolve(result());
    await running;
    expect(chunks).toEqual([bytes("a"), bytes("b")]);
  });

  it("aborts and rejects with what a callback threw, and calls none again", async () => {
    const error = new Error("disk full");
    const onStdout = vi.fn(() => {
      throw error;
    });
    const onStderr = vi.fn();
    const running = makeRunner().exec({ ...kInput, onStdout, onStderr });
    const { request, resolve } = fake.run();
    request.onStdout?.(bytes("a"));
    expect(fake.aborted).toEqual([0]);
    request.onStdout?.(bytes("b"));
    request.onStderr?.(bytes("c"));
    resolve(result({ exitCode: 130, outcome: { kind: "aborted" } }));
    await expect(running).rejects.toBe(error);
    expect(onStdout).toHaveBeenCalledTimes(1);
    expect(onStderr).not.toHaveBeenCalled();
  });

  it.each(["onStdout", "onStderr"] as const)("refuses a %s that is no function", async (field) => {
    const input = { ...kInput, [field]: "log" } as unknown as NativeExecInput;
    await expect(makeRunner().exec(input)).rejects.toThrow(
      expect.objectContaining({ name: "TypeError", message: expect.stringContaining(field) }),
    );
    expect(fake.runs).toHaveLength(0);
  });

  it("gives no callback to the addon when there is none", async () => {
    const running = makeRunner().exec(kInput);
    fake.run().resolve(result());
    await running;
    expect(fake.run().request).toMatchObject({ onStdout: undefined, onStderr: undefined });
  });
});
