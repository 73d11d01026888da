/** The configuration as the operator's variables leave it. */

import type { AuditLogTarget } from "../../types/audit-log.js";
import { expectAuditLog } from "../audit-log/sink.js";
import { expectFields, type FieldsOf } from "../fields.js";
import type { RuntimeConfig, RuntimeConfigInput } from "./config/config.js";
import { parseRuntimeConfig } from "./config/parse-config.js";
import { readRuntimeEnvironment, type Variables, withEnvironment } from "./environment.js";

/** How a runtime is chosen, besides its configuration. */
export type CreateRuntimeOptions = {
  /**
   * The operator's variables, which win over the configuration. Default process.env; `{}` for none.
   */
  environment?: Variables | undefined;
  /** Told of every warning; each is given as a process warning as well, once. */
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
export function runtimeSettings(
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
