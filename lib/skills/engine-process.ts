/** One call of a skill as a process of its engine, under whatever runner it is given. */

import type { SandboxedExecResult } from "../../types/public.js";
import { SandboxError } from "../errors.js";
import type { RuntimeRunner } from "../runtime/runtime.js";
import { type SkillAnswer, SkillError } from "./answer.js";
import type { EngineCommand, SkillEngine, SkillRequest } from "./engines/engine.js";

/** Bytes of an engine's standard error that are kept. */
const kMaxStderrBytes = 65_536;

/**
 * Units of fuel that count as a second of CPU time where the engine has no meter: an engine that
 * compiles executes about a thousand million instructions in it.
 */
const kFuelPerCpuSecond = 1e9;

/** Seconds of CPU time for a fuel limit that the engine can't keep; undefined when it can. */
export function cpuSecondsFor(engine: SkillEngine, request: SkillRequest): number | undefined {
  const { maxFuel } = request.limits;
  if (maxFuel === undefined || engine.enforces.fuel) return undefined;
  return Math.max(1, Math.ceil(maxFuel / kFuelPerCpuSecond));
}

/** What a process of an engine came to. */
export type EngineRun = {
  /** What the skill gave back, or why not. */
  answer: SkillAnswer;
  /** The process that it ran in. */
  result: SandboxedExecResult;
};

function limitAnswer(limit: "memory" | "time" | "fuel", error: string): SkillAnswer {
  return { success: false, error_kind: "limit", limit, error };
}

const lastLine = (bytes: Uint8Array) =>
  new TextDecoder().decode(bytes).trim().split("\n").at(-1) ?? "";

/** What V8 and the loaders say when the operating system gives no more memory. */
const kNoMemory = /out of memory|cannot allocate memory|allocation failed|std::bad_alloc/i;

/**
 * The answer that an outcome stands for.
 * @param reason why the call was aborted, if it was.
 * @throws SkillError or SandboxError where no engine ran.
 */
function answerOf(
  engine: SkillEngine,
  request: SkillRequest,
  result: SandboxedExecResult,
  reason: unknown,
): SkillAnswer {
  const { outcome, stderr } = result;
  switch (outcome.kind) {
    case "exited":
      return engine.answer(result, request);
    case "timed-out":
      return limitAnswer("time", `it took longer than ${request.limits.maxDurationMs} ms`);
    case "limit-exceeded":
      if (outcome.limit === "memoryBytes") return limitAnswer("memory", "it used too much memory");
      if (outcome.limit === "cpuSeconds") return limitAnswer("fuel", "it used too much CPU time");
      break;
    case "aborted":
      throw new SkillError("the call was aborted", { code: "ERR_SKILL_ABORTED", cause: reason });
    case "setup-failed": {
      const { reason: why, fix } = outcome;
      throw new SandboxError(`the skill's sandbox could not be set up: ${why}`, {
        code: "ERR_SANDBOX_SETUP",
        fix,
        cause: outcome,
      });
    }
    case "not-found":
    case "not-executable": {
      const said = lastLine(stderr);
      throw new SkillError(`the engine ${engine.name} can't be started: ${said}`, {
        code: "ERR_SKILL_ENGINE",
      });
    }
    case "signaled":
      if (kNoMemory.test(new TextDecoder().decode(stderr))) {
        return limitAnswer("memory", "its engine had no more memory");
      }
  }
  const how =
    outcome.kind === "signaled"
      ? outcome.signal
      : outcome.kind === "limit-exceeded"
        ? outcome.limit
        : "its lease";
  return { success: false, error_kind: "protocol", error: `the engine was ended by ${how}` };
}

/** Makes the runner for a process that reads these paths. */
type MakeRunner = (readable: readonly string[]) => Pick<RuntimeRunner, "exec">;

/** Thrown by a process that prepares a skill and does not end by itself: its end is the answer. */
class Unprepared extends Error {
  readonly result: SandboxedExecResult;

  constructor(result: SandboxedExecResult) {
    super("a skill could not be prepared");
    this.result = result;
  }
}

/**
 * Runs a skill in a process of its engine, to the end.
 * @throws (rejects) SkillError or SandboxError where no engine ran, and what the runner throws.
 */
export async function runEngine(
  makeRunner: MakeRunner,
  engine: SkillEngine,
  request: SkillRequest,
  signal: AbortSignal | undefined,
): Promise<EngineRun> {
  const { limits } = request;
  const deadline = performance.now() + limits.maxDurationMs;
  const exec = (command: EngineCommand) => {
    const { argv, stdin, env, readable, maxStdoutBytes, overheadBytes } = command;
    return makeRunner(readable).exec({
      argv,
      stdin,
      env,
      signal,
      limits: {
        timeoutMs: Math.max(1, deadline - performance.now()),
        maxStdoutBytes,
        maxStderrBytes: kMaxStderrBytes,
        memoryBytes: limits.maxMemoryBytes + overheadBytes,
        cpuSeconds: cpuSecondsFor(engine, request),
        maxOpenFiles: 256,
      },
    });
  };
  const prepare = async (command: EngineCommand) => {
    const result = await exec(command);
    if (result.outcome.kind !== "exited") throw new Unprepared(result);
    return result;
  };
  let result: SandboxedExecResult;
  try {
    result = await exec(await engine.command(request, prepare));
  } catch (error) {
    if (!(error instanceof Unprepared)) throw error;
    result = error.result;
  }
  return { answer: answerOf(engine, request, result, signal?.reason), result };
}
