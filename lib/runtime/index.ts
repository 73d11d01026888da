/** The runtimes' public face. */

export { forgetAvailability } from "./availability-cache.js";
export type { CanaryProbe, CanaryProbeName, CanaryVerdict } from "./canary/probe.js";
export type {
  BubblewrapConfig,
  FirejailConfig,
  LandlockConfig,
  RuntimeConfig,
  RuntimeConfigInput,
  SecurityConfig,
} from "./config/config.js";
export { loadRuntimeConfig } from "./config/config-file.js";
export { parseRuntimeConfig } from "./config/parse-config.js";
export { availableRuntimes, createRuntime, type RuntimeReport } from "./create.js";
export type { RuntimeName, RuntimeType } from "./names.js";
export type { RuntimeResult } from "./result.js";
export type {
  ExecuteOptions,
  Runtime,
  RuntimeAvailability,
  RuntimeMount,
  RuntimeRunner,
  RuntimeRunnerOptions,
  RuntimeState,
  RuntimeStep,
} from "./runtime.js";
export type { CreateRuntimeOptions } from "./settings.js";
export { RuntimeUnavailableError } from "./unavailable.js";
