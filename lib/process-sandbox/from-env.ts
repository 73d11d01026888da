/** The sandbox that an operator selects for a host application by environment variables. */

import type { ProcessSandbox } from "../../types/process-sandbox.js";
import { invalidType, invalidValue, SandboxError } from "../errors.js";
import { expectFields, type FieldsOf } from "../fields.js";
import type { RuntimeConfigInput } from "../runtime/config/config.js";
import { parseRuntimeConfig } from "../runtime/config/parse-config.js";
import { ConfiguredRuntime } from "../runtime/configured-runtime.js";
import { readRuntimeEnvironment, type Variables, withEnvironment } from "../runtime/environment.js";
import { kKinds } from "../runtime/kinds/all.js";
import type { RuntimeName } from "../runtime/names.js";
import type { Runtime, RuntimeRunner, RuntimeRunnerOptions } from "../runtime/runtime.js";
import { type Found, type Selection, select } from "./select.js";

/** How `sandboxFromEnv` tells what it finds. */
export type SandboxFromEnvOptions = {
  /** Told of each warning. Default: a process warning. */
  warn?: ((message: string) => void) | undefined;
  /** The host application, in front of every message: "demo-node: …". Default "native-runner". */
  name?: string | undefined;
  /** What the host application configured; the variables win. Default: no sandbox. */
  config?: RuntimeConfigInput | undefined;
};

const kOptions: FieldsOf<SandboxFromEnvOptions> = { warn: true, name: true, config: true };

/** What a host application runs commands with. */
export type SandboxFromEnv = {
  /** What confines; "native" is nothing. */
  readonly name: RuntimeName;
  /** False for "native". */
  readonly isConfined: boolean;
  /** Runs shell commands, and makes runners. */
  readonly runtime: Runtime;
  /** A runner for commands; `runtime.runner`. */
  runner(options: RuntimeRunnerOptions): RuntimeRunner;
  /**
   * For processes that the host starts itself; undefined when nothing confines. Only Bubblewrap can
   * wrap: `wrap` of another throws, so that a host can't start a process unconfined by mistake.
   */
  readonly processSandbox: ProcessSandbox | undefined;
};

function readSelection(env: Variables, input: RuntimeConfigInput): Selection {
  const said = readRuntimeEnvironment(env);
  const configured = parseRuntimeConfig({ ...input, runtimeType: input.runtimeType ?? "native" });
  const config = parseRuntimeConfig(withEnvironment(configured, said));
  if (said.required && config.runtimeType === "native") {
    throw invalidValue(
      "a sandbox is required, but none is chosen: set OPENAGENTIC_PROCESS_SANDBOX=bwrap " +
        "or OPENAGENTIC_SANDBOX_BACKEND",
    );
  }
  return { config, said, input, path: env.PATH };
}

/**
 * Reads the contract's variables of `env` (see docs/sandboxing.md) and gives the process sandbox and
 * the runner that they select, proved to work here by running them.
 *
 * What can't be had (not Linux, no bwrap, present but broken, an unknown value) is told to `warn`, and
 * the host goes on without a sandbox; with OPENAGENTIC_PROCESS_SANDBOX_REQUIRED=1 or
 * OPENAGENTIC_SANDBOX_REQUIRED=1 it is an error.
 *
 * @throws (rejects) TypeError that names a wrong variable; {@link SandboxError} with `fix` where a
 * required sandbox can't be had. Every message starts with `name`.
 *
 * @example
 * const sandbox = await sandboxFromEnv(process.env, { name: "demo-node", warn: console.warn });
 * const result = await sandbox.runner({ shadowDir }).exec({ argv: ["make", "test"] });
 */
export async function sandboxFromEnv(
  env: Variables,
  options: SandboxFromEnvOptions = {},
): Promise<SandboxFromEnv> {
  if (typeof env !== "object" || env === null) throw invalidType("env", "an object", env);
  expectFields(options, "options", kOptions);
  const { name = "native-runner", config: input = {} } = options;
  const prefix = `${name}: `;
  const warn =
    options.warn ??
    ((message) => {
      process.emitWarning(message, { type: "SandboxWarning", code: "OPENAGENTIC_PROCESS_SANDBOX" });
    });

  let selection: Selection;
  try {
    selection = readSelection(env, input);
  } catch (error) {
    throw invalidValue(prefix + (error instanceof Error ? error.message : String(error)), error);
  }
  for (const warning of selection.said.warnings) warn(prefix + warning);

  const native = new ConfiguredRuntime(kKinds.native, selection.config);
  let found: Found = { name: "native", runtime: native, processSandbox: undefined };
  if (selection.config.runtimeType !== "native") {
    const selected = await select(selection, prefix);
    if ("runtime" in selected) found = selected;
    else if (selection.said.required) throw selected.error();
    else warn(prefix + selected.warning);
  }
  const { runtime } = found;
  return {
    ...found,
    isConfined: found.name !== "native",
    runner: (runnerOptions) => runtime.runner(runnerOptions),
  };
}
