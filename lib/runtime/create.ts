/** Chooses a runtime. */

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

/** A runtime and whether it works here. */
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
 * The runtime that the configuration and the operator's variables ask for, proved to work here.
 * With `runtimeType: "auto"` that is bubblewrap, else landlock, else firejail; `steps` of the result
 * tells what was looked at. Native, which confines nothing, is taken only by its name or with
 * `allowFallbackToNative`, and then with a warning.
 *
 * @throws (rejects) {@link RuntimeUnavailableError} with the same `steps` when there is none;
 * TypeError on a wrong configuration or variable.
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

/** Every runtime under this configuration, and whether it works here. */
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

/** The configuration as the operator's variables leave it. */

/** How a runtime is chosen, besides its configuration. */
export type CreateRuntimeOptions = {
  /**
   * The operator's variables, which win over the configuration. Default process.env; `{}` for none.
   */
  environment?: Variables | undefined;
  /** Reported of every warning; each is given as a process warning as well, once. */
  warn?: ((message: string) => void) | undefined;
  /** An `AuditLog`, where the runtime's runners record their runs. Default none. */
  auditLog?: AuditLogTarget | undefined;
};

const kOptions: FieldsOf<CreateRuntimeOptions> = {
  environment: true,
  warn: true,
  auditLog: true,
};

/** What holds for this process. */
export type RuntimeSettings = {
  config: RuntimeConfig;
  /** A sandbox or an error. */
  required: boolean;
  /** About variables that contradict each other or are not understood. */
  warnings: string[];
};

/** @throws TypeError that names the setting or the variable that is wrong. */
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

/** Warnings for the operator: each text once for each Node environment. */

const given = new Set<string>();

/** Codes of the process warnings. */
type RuntimeWarningCode = "OPENAGENTIC_NATIVE_RUNTIME" | "OPENAGENTIC_RUNTIME_CONFIG";

/** Gives a process warning, and tells `warn` each time. */
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
