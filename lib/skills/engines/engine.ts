/** What an engine is: it turns a skill into a process, and the process' end into an answer. */

import type { SandboxedExecResult } from "../../../types/public.js";
import type { SkillAnswer } from "../answer.js";
import type { ResolvedSkillLimits, TrustTier } from "../skill.js";

/** What an engine keeps a skill to by itself; what it does not is the operating system's. */
export type EngineEnforcement = {
  /** Ends a skill at `maxFuel`. */
  readonly fuel: boolean;
  /** Holds the linear memory to `maxMemoryBytes`. */
  readonly memory: boolean;
  /** Ends a skill at `maxDurationMs`; the supervisor's deadline stands behind it. */
  readonly time: boolean;
  /** Runs WASI preview 1 commands. */
  readonly wasi: boolean;
  /** Runs components that export `execute`. */
  readonly components: boolean;
};

/** One call of a skill. */
export type SkillRequest = {
  /** A real path. */
  wasmPath: string;
  /** The skill's standard input. */
  input: string;
  /** Which walls it is run behind. */
  trustTier: TrustTier;
  /** What it may use. */
  limits: ResolvedSkillLimits;
  /** Whether it is a component, as against a command module. */
  isComponent: boolean;
};

/** The process for one call. */
export type EngineCommand = {
  /** An absolute path and its arguments. */
  argv: string[];
  /** Its standard input. */
  stdin: Uint8Array;
  /** Variables for the process. Default none. */
  env?: Record<string, string>;
  /** Absolute host paths that the process reads besides the skill and the system's libraries. */
  readable: readonly string[];
  /** Bytes that the process may use besides the skill's memory. */
  overheadBytes: number;
  /** Bytes of the longest standard output that can be an answer. */
  maxStdoutBytes: number;
};

/** How a process ended. */
export type EngineEnd = SandboxedExecResult;

/** One WASM engine. */
export interface SkillEngine {
  /** In results and errors. */
  readonly name: string;
  /** What it keeps a skill to by itself. */
  readonly enforces: EngineEnforcement;
  /**
   * The process for one call. `run` runs another one before it, under the same walls, where a skill
   * must be prepared.
   * @throws SkillError with code ERR_SKILL_ENGINE when it can't run this one.
   */
  command(
    request: SkillRequest,
    run: (command: EngineCommand) => Promise<EngineEnd>,
  ): EngineCommand | Promise<EngineCommand>;
  /** What a process that ended by itself answered; never throws. */
  answer(end: EngineEnd, request: SkillRequest): SkillAnswer;
  /**
   * Runs the skill in this process, behind the engine only. Resolves with undefined when it can't
   * hold this skill to its limits, which then gets a process.
   */
  direct?(request: SkillRequest, signal: AbortSignal | undefined): Promise<SkillAnswer | undefined>;
  /** Ends what `direct` keeps. */
  close?(): Promise<void>;
}
