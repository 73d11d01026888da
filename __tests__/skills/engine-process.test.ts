/** What the end of an engine's process means, whatever ended it. */

import { describe, expect, it } from "vitest";

import type { SkillEngine, SkillRequest } from "../../lib/index.js";
import { parseAnswer } from "../../lib/skills/answer.js";
import { cpuSecondsFor, runEngine } from "../../lib/skills/engine-process.js";
import type { EngineCommand } from "../../lib/skills/engines/engine.js";
import type { NativeExecInput, Outcome, SandboxedExecResult } from "../../types/public.js";
import { result } from "../support/fake-addon.js";

const request: SkillRequest = {
  wasmPath: "/srv/a/a.wasm",
  input: "",
  trustTier: "untrusted",
  limits: {
    maxMemoryBytes: 65_536,
    maxFuel: undefined,
    maxDurationMs: 1000,
    maxOutputBytes: 100,
  },
  isComponent: false,
};
const command: EngineCommand = {
  argv: ["/bin/engine"],
  stdin: new Uint8Array([1]),
  readable: ["/bin/engine"],
  overheadBytes: 1000,
  maxStdoutBytes: 50,
};
const engine: SkillEngine = {
  name: "engine",
  enforces: { fuel: false, memory: true, time: true, wasi: true, components: false },
  command: () => command,
  answer: ({ stdout }) => parseAnswer(stdout),
};
const bytes = (text: string) => new TextEncoder().encode(text);

async function ended(
  changes: Partial<SandboxedExecResult>,
  it: SkillEngine = engine,
  calls: [readonly string[], NativeExecInput][] = [],
) {
  const makeRunner = (readable: readonly string[]) => ({
    exec: async (input: NativeExecInput) => {
      calls.push([readable, input]);
      return result(changes);
    },
  });
  return (await runEngine(makeRunner, it, request, undefined)).answer;
}

describe("the process", () => {
  it("has the skill's limits, the engine's memory on top, and only the engine's paths", async () => {
    const calls: [readonly string[], NativeExecInput][] = [];
    await ended({ stdout: bytes('{"success":true,"output":"a"}') }, engine, calls);
    const [[readable, input] = []] = calls;
    expect(readable).toEqual(["/bin/engine"]);
    expect(input).toMatchObject({ argv: ["/bin/engine"], stdin: command.stdin });
    const { timeoutMs = 0, ...limits } = input?.limits ?? {};
    expect(limits).toEqual({
      maxStdoutBytes: 50,
      maxStderrBytes: 65_536,
      memoryBytes: 66_536,
      cpuSeconds: undefined,
      maxOpenFiles: 256,
    });
    expect(timeoutMs).toBeGreaterThan(0);
    expect(timeoutMs).toBeLessThanOrEqual(1000);
  });

  it("has CPU time for fuel that the engine can't meter", () => {
    const fuel = (maxFuel: number | undefined) => ({
      ...request,
      limits: { ...request.limits, maxFuel },
    });
    expect(cpuSecondsFor(engine, fuel(undefined))).toBeUndefined();
    expect(cpuSecondsFor(engine, fuel(1))).toBe(1);
    expect(cpuSecondsFor(engine, fuel(1e9 + 1))).toBe(2);
    const metered = { ...engine, enforces: { ...engine.enforces, fuel: true } };
    expect(cpuSecondsFor(metered, fuel(1e12))).toBeUndefined();
  });
});

describe("an outcome", () => {
  it("that is an exit is the engine's to read", async () => {
    const stdout = bytes('{"success":true,"output":"a"}');
    expect(await ended({ stdout })).toEqual({ success: true, output: "a" });
  });

  const limits: [Outcome, string][] = [
    [{ kind: "timed-out" }, "time"],
    [{ kind: "limit-exceeded", limit: "memoryBytes" }, "memory"],
    [{ kind: "limit-exceeded", limit: "cpuSeconds" }, "fuel"],
  ];
  it.each(limits)("%j is a limit, whatever was answered before", async (outcome, limit) => {
    const stdout = bytes('{"success":true,"output":"forged"}');
    expect(await ended({ outcome, stdout })).toMatchObject({
      success: false,
      error_kind: "limit",
      limit,
    });
  });

  it("that is a signal is no answer, unless memory had run out", async () => {
    const outcome: Outcome = { kind: "signaled", signal: "SIGSEGV" };
    const stdout = bytes('{"success":true,"output":"forged"}');
    expect(await ended({ outcome, stdout })).toMatchObject({ error_kind: "protocol" });
    const stderr = bytes("FATAL ERROR: … Allocation failed - JavaScript heap out of memory");
    expect(await ended({ outcome, stderr })).toMatchObject({ limit: "memory" });
  });

  it.each<[Outcome, object]>([
    [{ kind: "aborted" }, { code: "ERR_SKILL_ABORTED" }],
    [{ kind: "not-found" }, { code: "ERR_SKILL_ENGINE" }],
    [{ kind: "not-executable" }, { code: "ERR_SKILL_ENGINE" }],
    [
      { kind: "setup-failed", reason: "no mount", fix: "mount it" },
      { name: "SandboxError", code: "ERR_SANDBOX_SETUP", fix: "mount it" },
    ],
  ])("%j is thrown, since no engine ran", async (outcome, error) => {
    await expect(ended({ outcome })).rejects.toMatchObject(error);
  });
});

describe("an engine that prepares", () => {
  const preparing: SkillEngine = {
    ...engine,
    command: async (_, run) => {
      await run({ ...command, argv: ["/bin/prepare"] });
      return command;
    },
  };

  it("runs twice", async () => {
    const calls: [readonly string[], NativeExecInput][] = [];
    await ended({ stdout: bytes('{"success":true,"output":"a"}') }, preparing, calls);
    expect(calls.map(([, { argv }]) => argv)).toEqual([["/bin/prepare"], ["/bin/engine"]]);
  });

  it("does not run on after a preparation that was ended", async () => {
    const calls: [readonly string[], NativeExecInput][] = [];
    const answer = await ended({ outcome: { kind: "timed-out" } }, preparing, calls);
    expect(answer).toMatchObject({ limit: "time" });
    expect(calls).toHaveLength(1);
  });
});
