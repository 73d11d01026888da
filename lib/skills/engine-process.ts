/** Runs one call of a skill as a process of its engine, with any given runner. */

import type { SandboxedExecResult } from "../../types/public.js";
import { SandboxError } from "../errors.js";
import type { RuntimeRunner } from "../runtime/runtime.js";
import { type SkillAnswer, SkillError } from "./answer.js";
import type { EngineCommand, SkillEngine, SkillRequest } from "./engines/engine.js";

/** Number of bytes of an engine's standard error that are kept. */
const kMaxStderrBytes = 65_536;

/**
 * Units of fuel that count as one second of CPU time if the engine has no meter: a compiling engine executes
 * about a thousand million instructions per second.
 */
const kFuelPerCpuSecond = 1e9;

/** Returns the seconds of CPU time for a fuel limit that the engine can't enforce; undefined if it can. */
export function cpuSecondsFor(engine: SkillEngine, request: SkillRequest): number | undefined {
  const { maxFuel } = request.limits;
  if (maxFuel === undefined || engine.enforces.fuel) return undefined;
  return Math.max(1, Math.ceil(maxFuel / kFuelPerCpuSecond));
}

/** The result of an engine's process. */
export type EngineRun = {
  /** The skill's output, or why it has none. */
  answer: SkillAnswer;
  /** The result of the process that it ran in. */
  result: SandboxedExecResult;
};

function limitAnswer(limit: "memory" | "time" | "fuel", error: string): SkillAnswer {
  return { success: false, error_kind: "limit", limit, error };
}

const lastLine = (bytes: Uint8Array) =>
  new TextDecoder().decode(bytes).trim().split("\n").at(-1) ?? "";

/** Messages of V8 and the loaders when the operating system refuses more memory. */
const kNoMemory = /out of memory|cannot allocate memory|allocation failed|std::bad_alloc/i;

/**
 * Returns the answer that corresponds to an outcome.
 * @param reason why the call was aborted, if it was.
 * @throws SkillError or SandboxError if no engine ran.
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

/** Creates the runner for a process that reads these paths. */
type MakeRunner = (readable: readonly string[]) => Pick<RuntimeRunner, "exec">;

/** Thrown if a process that prepares a skill does not end by itself: its end is the answer. */
class Unprepared extends Error {
  readonly result: SandboxedExecResult;

  constructor(result: SandboxedExecResult) {
    super("a skill could not be prepared");
    this.result = result;
  }
}

/**
 * Runs a skill in a process of its engine until it ends.
 * @throws (rejects) SkillError or SandboxError if no engine ran, and any error of the runner.
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
