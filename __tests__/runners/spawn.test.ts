/** What lib makes of a live process: streams with backpressure, misuse, and its end. */

import { beforeEach, describe, expect, it, vi } from "vitest";

import { LandlockNativeRunner, type NativeSpawnInput, SandboxError } from "../../lib/index.js";
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

const pty = { cols: 80, rows: 24 };
const turn = () => new Promise(setImmediate);
const bytes = (text: string) => new Uint8Array(Buffer.from(text));

function liveOf(index = 0) {
  const { live } = fake.run(index);
  if (live === undefined) throw new Error("no live process");
  return live;
}

async function spawned(input: Partial<NativeSpawnInput> = {}) {
  const runner = new LandlockNativeRunner({ shadowDir: "/w" });
  const starting = runner.spawn({ argv: ["a"], ...input });
  await turn();
  liveOf().onEvent("started");
  return starting;
}

describe("spawn", () => {
  it("hands over each field, and resolves once the command is started", async () => {
    const runner = new LandlockNativeRunner({ shadowDir: "/w" });
    let isStarted = false;
    const input = { argv: ["a"], cwd: "c", env: { A: "1" }, limits: { timeoutMs: 5 }, pty };
    const starting = runner.spawn(input).then((process) => {
      isStarted = true;
      return process;
    });
    await turn();
    expect(isStarted).toBe(false);
    expect(liveOf()).toMatchObject(input);
    liveOf().onEvent("started");
    expect((await starting).stderr).toBeNull();
  });

  it("resolves with what ended before it started, and rejects where there can be none", async () => {
    const runner = new LandlockNativeRunner({ shadowDir: "/w" });
    const failing = runner.spawn({ argv: ["a"] });
    const impossible = runner.spawn({ argv: ["b"] });
    await turn();
    const outcome = { kind: "setup-failed", reason: "why" } as const;
    fake.run(0).resolve(result({ exitCode: 125, outcome }));
    fake.run(1).reject(nativeError("no kernel", "ERR_SANDBOX_UNAVAILABLE", "get one"));
    expect((await (await failing).result).outcome).toEqual(outcome);
    await expect(impossible).rejects.toBeInstanceOf(SandboxError);
  });

  it("throws what the addon throws", async () => {
    fake.refusal = undefined;
    const runner = new LandlockNativeRunner({ shadowDir: "/w" });
    fake.refusal = nativeError("bad argv", "ERR_INVALID_ARG_VALUE");
    await expect(runner.spawn({ argv: [] })).rejects.toThrow("bad argv");
  });

  it.each([
    ["input", null],
    ["input", 5],
    ["signal", { argv: ["a"], signal: "SIGTERM" }],
    ["stdin", { argv: ["a"], stdin: new Uint8Array() }],
    ["onStdout", { argv: ["a"], onStdout: () => {} }],
    ["onStderr", { argv: ["a"], onStderr: () => {} }],
    ["limits.maxStdoutBytes", { argv: ["a"], limits: { maxStdoutBytes: 5 } }],
    ["limits.maxStderrBytes", { argv: ["a"], limits: { maxStderrBytes: 5 } }],
    ["limits.keep", { argv: ["a"], limits: { keep: "head" } }],
  ])("names %s when it is wrong or can't be had: %j", async (field, input) => {
    const runner = new LandlockNativeRunner({ shadowDir: "/w" });
    const failed = await runner.spawn(input as NativeSpawnInput).catch((error: unknown) => error);
    expect(failed).toBeInstanceOf(TypeError);
    expect((failed as Error).message).toContain(`\`${field}\``);
    expect(fake.runs).toEqual([]);
  });
});

describe("output", () => {
  it("grants what was taken, once the stream asks for more", async () => {
    const process = await spawned();
    liveOf().onStdout(bytes("x".repeat(70_000)));
    await turn();
    expect(fake.reported).toEqual([]); // over its highWaterMark: nobody reads
    expect(process.stdout.read()?.length).toBe(70_000);
    await turn();
    expect(fake.reported).toEqual([["grant", 0, "stdout", 70_000]]);
    liveOf().onStderr(bytes("abc"));
    await turn();
    expect(fake.reported.slice(1)).toEqual([["grant", 0, "stderr", 3]]);
  });

  it("ends with the process, after all that came before", async () => {
    const process = await spawned();
    liveOf().onStdout(bytes("last words"));
    fake.run().resolve(result());
    await process.result;
    const chunks: Buffer[] = [];
    for await (const chunk of process.stdout) chunks.push(chunk);
    expect(Buffer.concat(chunks).toString()).toBe("last words");
  });

  it("is closed for the command when it is destroyed", async () => {
    const process = await spawned();
    process.stdout.destroy();
    await turn();
    expect(fake.reported).toEqual([["closeOutput", 0, "stdout"]]);
    liveOf().onStdout(bytes("more"));
  });
});

describe("input", () => {
  it("is written a call at a time, each after the answer to the one before", async () => {
    const process = await spawned();
    process.stdin.write("one");
    process.stdin.write("two");
    process.stdin.end("three");
    expect(fake.reported).toEqual([["write", 0, "one"]]);
    liveOf().onEvent("input-taken");
    await turn();
    expect(fake.reported.slice(1)).toEqual([["write", 0, "twothree"]]);
    liveOf().onEvent("input-taken");
    await turn();
    expect(fake.reported.slice(2)).toEqual([["endInput", 0]]);
    const finished = new Promise((resolve) => process.stdin.once("finish", resolve));
    liveOf().onEvent("input-taken");
    await finished;
  });

  it("that nobody reads any more is EPIPE, and nothing that is thrown", async () => {
    const process = await spawned();
    const failed = new Promise((resolve) => process.stdin.write("x", resolve));
    liveOf().onEvent("input-closed");
    expect(await failed).toMatchObject({ code: "EPIPE" });
    await turn();
    expect(process.stdin.destroyed).toBe(true);
  });

  it("that is under way when it is destroyed is answered, once", async () => {
    const process = await spawned();
    const answers: unknown[] = [];
    process.stdin.write("one", (error) => answers.push(error));
    process.stdin.write("two", (error) => answers.push(error));
    process.stdin.destroy();
    await turn();
    const destroyed = expect.objectContaining({ code: "ERR_STREAM_DESTROYED" });
    expect(answers).toEqual([destroyed, destroyed]);
    fake.run().resolve(result());
    await process.result;
    await turn();
    expect(answers).toHaveLength(2);
  });

  it("that is under way at the end is EPIPE; an end that is, is none", async () => {
    const first = await spawned();
    const failed = new Promise((resolve) => first.stdin.write("x", resolve));
    fake.run().resolve(result());
    expect(await failed).toMatchObject({ code: "EPIPE" });

    fake = freshAddon();
    const second = await spawned();
    const finished = new Promise((resolve) => second.stdin.end(resolve));
    await turn();
    fake.run().resolve(result());
    expect(await finished).toBeFalsy();
  });
});

describe("a live process", () => {
  it("is signalled by name", async () => {
    const process = await spawned();
    process.signal("SIGTERM");
    process.signal("SIGWINCH");
    expect(fake.reported).toEqual([
      ["signal", 0, 15],
      ["signal", 0, 28],
    ]);
    for (const name of ["TERM", "SIGNONE", "toString", 15, undefined, null]) {
      expect(() => process.signal(name as NodeJS.Signals)).toThrow(TypeError);
      expect(() => process.signal(name as NodeJS.Signals)).toThrow("`signal`");
    }
  });

  it("is resized when it has a terminal", async () => {
    const process = await spawned({ pty });
    process.resize({ cols: 1, rows: 2 });
    expect(fake.reported).toEqual([["resize", 0, { cols: 1, rows: 2 }]]);
    fake = freshAddon();
    const plain = await spawned();
    expect(() => plain.resize(pty)).toThrow(
      expect.objectContaining({
        code: "ERR_INVALID_STATE",
        message: expect.stringContaining("pty"),
      }),
    );
  });

  it("is stopped by stop, by await using, and by its signal", async () => {
    const controller = new AbortController();
    const process = await spawned({ signal: controller.signal });
    const stopping = process.stop();
    const disposing = process[Symbol.asyncDispose]();
    controller.abort();
    expect(fake.aborted).toEqual([0, 0, 0]);
    const ended = result({ exitCode: 130, outcome: { kind: "aborted" } });
    fake.run().resolve(ended);
    expect(await stopping).toBe(ended);
    await disposing;
  });

  it("is ended by its runner's close", async () => {
    const runner = new LandlockNativeRunner({ shadowDir: "/w" });
    const starting = runner.spawn({ argv: ["a"] });
    await turn();
    const closing = runner.close();
    await turn();
    expect(fake.aborted).toEqual([0]);
    fake.run().resolve(result({ exitCode: 130, outcome: { kind: "aborted" } }));
    await closing;
    expect((await (await starting).result).outcome.kind).toBe("aborted");
    await expect(runner.spawn({ argv: ["a"] })).rejects.toMatchObject({
      code: "ERR_SANDBOX_CLOSED",
    });
  });
});
