/** Selects a runtime. */

import type { AuditLogTarget } from "../../types/audit-log.js";
import { expectAuditLog } from "../audit-log/sink.js";
import { invalidValue } from "../errors.js";
import { expectFields, type FieldsOf } from "../fields.js";
import type { RuntimeConfig, RuntimeConfigInput } from "./config.js";
import { ConfiguredRuntime } from "./configured-runtime.js";
import { readRuntimeEnvironment, type Variables, withEnvironment } from "./environment.js";
import { kKinds } from "./kinds.js";
import { parseRuntimeConfig } from "./parse-config.js";
import {
  kConfiningNames,
  kRuntimeNames,
  type Runtime,
  type RuntimeAvailability,
  type RuntimeName,
  type RuntimeStep,
  RuntimeUnavailableError,
  withCause,
} from "./runtime.js";

/** A runtime and its availability on this host. */
export type RuntimeReport = RuntimeAvailability & {
  /** The runtime. */
  name: RuntimeName;
};

function stepOf(name: RuntimeName, found: RuntimeAvailability): RuntimeStep {
  const { available, reason, fix } = found;
  const because = {
    ...(reason === undefined ? {} : { reason }),
    ...(fix === undefined ? {} : { fix }),
  };
  return withCause({ name, available, ...because }, found.cause);
}

function refuseNative({ config, required }: RuntimeSettings): void {
  if (required) throw invalidValue("`runtimeType` is native, but a sandbox is required");
  if (config.required.length > 0) {
    const layers = config.required.join(", ");
    throw invalidValue(`the native runtime has none of the required layers (${layers})`);
  }
}

/**
 * Returns the runtime that the configuration and the operator's variables select, tested on this host. With
 * `runtimeType: "auto"` that is bubblewrap, otherwise landlock, otherwise firejail; `steps` of the result
 * lists the candidates that were tested. Native, which confines nothing, is selected only by its name or with
 * `allowFallbackToNative`, and then with a warning.
 *
 * @throws (rejects) {@link RuntimeUnavailableError} with the same `steps` if no runtime works; TypeError on
 * an invalid configuration or variable.
 */
export async function createRuntime(
  input: RuntimeConfigInput = {},
  options: CreateRuntimeOptions = {},
): Promise<Runtime> {
  const settings = runtimeSettings(input, options);
  const { config, required, warnings } = settings;
  const { runtimeType } = config;
  const { auditLog } = options;
  if (runtimeType === "native") refuseNative(settings);
  for (const warning of warnings) warnOnce(warning, "OPENAGENTIC_RUNTIME_CONFIG", options.warn);

  const steps: RuntimeStep[] = [];
  const look = async (name: RuntimeName): Promise<Runtime | undefined> => {
    const found = await new ConfiguredRuntime(kKinds[name], config).isAvailable();
    steps.push(stepOf(name, found));
    return found.available
      ? new ConfiguredRuntime(kKinds[name], config, { steps: [...steps], auditLog })
      : undefined;
  };

  for (const name of runtimeType === "auto" ? kConfiningNames : [runtimeType]) {
    const runtime = await look(name);
    if (runtime === undefined) continue;
    if (name === "native") warnUnconfined("as configured", options);
    return runtime;
  }
  const failed = [...steps];
  const mayFallBack = config.allowFallbackToNative && config.required.length === 0;
  if (mayFallBack && runtimeType !== "native") {
    const runtime = await look("native");
    const reasons = failed.map(({ name, reason }) => `${name}: ${reason}`).join("; ");
    if (runtime !== undefined) {
      warnUnconfined(`no sandbox works here (${reasons})`, options);
      return runtime;
    }
  }
  const what =
    runtimeType === "auto" ? "no sandbox works here" : `${runtimeType} does not work here`;
  throw new RuntimeUnavailableError(required ? `${what}, and one is required` : what, steps);
}

function warnUnconfined(why: string, options: CreateRuntimeOptions): void {
  const message = `commands run without a sandbox: ${why}`;
  warnOnce(message, "OPENAGENTIC_NATIVE_RUNTIME", options.warn);
}

/** Returns every runtime under this configuration, with its availability. */
export async function availableRuntimes(
  input: RuntimeConfigInput = {},
  options: CreateRuntimeOptions = {},
): Promise<RuntimeReport[]> {
  const { config } = runtimeSettings(input, options);
  const reports: RuntimeReport[] = [];
  for (const name of kRuntimeNames) {
    const found = await new ConfiguredRuntime(kKinds[name], config).isAvailable();
    reports.push({ name, ...found });
  }
  return reports;
}

/** Combines the configuration with the operator's variables. */

/** Options for selecting a runtime, besides its configuration. */
export type CreateRuntimeOptions = {
  /** The operator's variables, which override the configuration. Default process.env; `{}` for none. */
  environment?: Variables | undefined;
  /** Called with every warning; each is also emitted once as a process warning. */
  warn?: ((message: string) => void) | undefined;
  /** An `AuditLog` that records the runs of the runtime's runners. Default none. */
  auditLog?: AuditLogTarget | undefined;
};

const kOptions: FieldsOf<CreateRuntimeOptions> = {
  environment: true,
  warn: true,
  auditLog: true,
};

/** The settings in effect for this process. */
export type RuntimeSettings = {
  config: RuntimeConfig;
  /** True if an unavailable sandbox is an error. */
  required: boolean;
  /** Warnings about variables that contradict each other or have unknown values. */
  warnings: string[];
};

/** @throws TypeError naming the invalid setting or variable. */
function runtimeSettings(
  input: RuntimeConfigInput,
  options: CreateRuntimeOptions,
): RuntimeSettings {
  expectFields(options, "options", kOptions);
  expectAuditLog(options.auditLog);
  const said = readRuntimeEnvironment(options.environment ?? process.env);
  const configured = parseRuntimeConfig(input);
  const config = parseRuntimeConfig(withEnvironment(configured, said));
  return { config, required: said.required, warnings: said.warnings };
}

/** Warns the operator: each text once per Node environment. */

const given = new Set<string>();

/** Codes of the process warnings. */
type RuntimeWarningCode = "OPENAGENTIC_NATIVE_RUNTIME" | "OPENAGENTIC_RUNTIME_CONFIG";

/** Emits a process warning once, and calls `warn` each time. */
function warnOnce(
  message: string,
  code: RuntimeWarningCode,
  warn?: ((message: string) => void) | undefined,
): void {
  warn?.(message);
  if (given.has(message)) return;
  given.add(message);
  process.emitWarning(message, { type: "SandboxWarning", code });
}
