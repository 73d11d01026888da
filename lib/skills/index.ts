/** The skills' public face. */

export type { SkillAnswer } from "./answer.js";
export type { SkillRuntimeName } from "./confinement.js";
export type { SkillEngineName } from "./engines/choice.js";
export type {
  EngineCommand,
  EngineEnforcement,
  SkillEngine,
  SkillRequest,
} from "./engines/engine.js";
export {
  type ExecuteSkillOptions,
  WasmSkillExecutor,
  type WasmSkillExecutorOptions,
} from "./executor.js";
export type { SkillLimitName } from "./guest/answer-shape.mjs";
export type { SkillEnforcement, SkillExecutionResult } from "./result.js";
export { type RunSandboxedOptions, runSandboxed, type SandboxedSkillRun } from "./sandbox.js";
export { buildConfigForSkill, type SkillSandboxConfig } from "./sandbox-config.js";
export type {
  ResolvedSkillLimits,
  Skill,
  SkillLimits,
  SkillManifest,
  TrustTier,
} from "./skill.js";
export { SkillError, type SkillErrorCode, type SkillErrorDetails } from "./skill-error.js";
export { shouldUseOsSandbox } from "./tier.js";
