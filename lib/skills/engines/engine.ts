/** The interface of an engine: it turns a skill into a process, and the process's end into an answer. */

import type { SandboxedExecResult } from "../../../types/public.js";
import type { SkillAnswer } from "../answer.js";
import type { ResolvedSkillLimits, TrustTier } from "../skill.js";

/** The limits that an engine enforces itself; the operating system enforces the others. */
export type EngineEnforcement = {
  /** True if it ends a skill at `maxFuel`. */
  readonly fuel: boolean;
  /** True if it limits the linear memory to `maxMemoryBytes`. */
  readonly memory: boolean;
  /** True if it ends a skill at `maxDurationMs`; the supervisor's deadline applies in any case. */
  readonly time: boolean;
  /** True if it runs WASI preview 1 commands. */
  readonly wasi: boolean;
  /** True if it runs components that export `execute`. */
  readonly components: boolean;
};

/** One call of a skill. */
export type SkillRequest = {
  /** The real path of the skill's file. */
  wasmPath: string;
  /** The skill's standard input. */
  input: string;
  /** Determines the walls that the skill runs behind. */
  trustTier: TrustTier;
  /** Limits of the call. */
  limits: ResolvedSkillLimits;
  /** True for a component, false for a command module. */
  isComponent: boolean;
};

/** The process for one call. */
export type EngineCommand = {
  /** The program's absolute path and its arguments. */
  argv: string[];
  /** Its standard input. */
  stdin: Uint8Array;
  /** Variables for the process. Default none. */
  env?: Record<string, string>;
  /** Absolute host paths that the process reads besides the skill and the system's libraries. */
  readable: readonly string[];
  /** Bytes of memory that the process may use besides the skill's. */
  overheadBytes: number;
  /** Maximum size in bytes of a standard output that can be an answer. */
  maxStdoutBytes: number;
};

/** The end of a process. */
export type EngineEnd = SandboxedExecResult;

/** One WASM engine. */
export interface SkillEngine {
  /** Name in results and errors. */
  readonly name: string;
  /** The limits that it enforces itself. */
  readonly enforces: EngineEnforcement;
  /**
   * Returns the process for one call. If a skill must be prepared, `run` first runs another process behind
   * the same walls.
   * @throws SkillError with code ERR_SKILL_ENGINE if it can't run this skill.
   */
  command(
    request: SkillRequest,
    run: (command: EngineCommand) => Promise<EngineEnd>,
  ): EngineCommand | Promise<EngineCommand>;
  /** Returns the answer of a process that ended by itself; never throws. */
  answer(end: EngineEnd, request: SkillRequest): SkillAnswer;
  /**
   * Runs the skill in this process, with the engine as the only wall. Resolves with undefined if it can't
   * enforce the skill's limits here; the skill then gets a process.
   */
  direct?(request: SkillRequest, signal: AbortSignal | undefined): Promise<SkillAnswer | undefined>;
  /** Ends the resources that `direct` keeps. */
  close?(): Promise<void>;
}
