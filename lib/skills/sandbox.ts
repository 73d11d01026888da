/** The second wall: one call of a skill as a process of its engine, in the OS sandbox. */

import { realpath } from "node:fs/promises";

import { invalidValue } from "../errors.js";
import { expectFields, type FieldsOf } from "../fields.js";
import {
  type ConfinementOptions,
  confine,
  kConfinementOptions,
  type SkillRuntimeName,
} from "./confinement.js";
import { type EngineRun, runEngine } from "./engine-process.js";
import type { SkillEngine, SkillRequest } from "./engines/engine.js";
import { withPrivateDirectory } from "./private-directory.js";
import { isWithin, type SkillSandboxConfig } from "./sandbox-config.js";

/** How `runSandboxed` runs. */
export type RunSandboxedOptions = ConfinementOptions & {
  /** Runs the skill. */
  engine: SkillEngine;
  /** Whether it is a component, as against a command module. Default false. */
  isComponent?: boolean | undefined;
  /** Ends the run when aborted. */
  signal?: AbortSignal | undefined;
};

const kConfig: FieldsOf<SkillSandboxConfig> = {
  wasmPath: true,
  input: true,
  trustTier: true,
  resourceLimits: true,
  readablePaths: true,
  writablePaths: true,
  allowNetwork: true,
  tempDir: true,
};
const kOptions: FieldsOf<RunSandboxedOptions> = {
  engine: true,
  isComponent: true,
  signal: true,
  ...kConfinementOptions,
};

/** What a sandboxed run came to. */
export type SandboxedSkillRun = EngineRun & {
  /** The runtime whose sandbox it was. */
  runtime: SkillRuntimeName;
};

/** Writable paths and network are no part of what is offered: asked for, they are refused. */
async function checkConfig(config: SkillSandboxConfig): Promise<string> {
  if (config.writablePaths.length > 0) {
    throw invalidValue(`\`writablePaths\`: a sandboxed skill writes nowhere`);
  }
  if (config.allowNetwork) throw invalidValue("`allowNetwork`: a sandboxed skill has no network");
  const path = await realpath(config.wasmPath);
  if (config.readablePaths.some((directory) => isWithin(path, directory))) return path;
  throw invalidValue(`\`wasmPath\` leads to ${path}, which none of \`readablePaths\` shows`);
}

/**
 * Runs a skill behind both walls: the engine's and the operating system's, Bubblewrap's or, where
 * that does not work, Landlock's. The sandbox is proved to work before anything runs in it; where
 * none works nothing runs.
 *
 * @throws (rejects) SandboxError when there is no sandbox or it can't be set up; SkillError when the
 * engine can't be started or the call is aborted; TypeError for a configuration that asks for more.
 */
export async function runSandboxed(
  config: SkillSandboxConfig,
  options: RunSandboxedOptions,
): Promise<SandboxedSkillRun> {
  expectFields(config, "config", kConfig);
  expectFields(options, "options", kOptions);
  const wasmPath = await checkConfig(config);
  const { engine, isComponent = false, signal, ...choice } = options;
  const confinement = await confine(choice);
  const { input, trustTier, resourceLimits: limits } = config;
  const request: SkillRequest = { wasmPath, input, trustTier, limits, isComponent };
  return withPrivateDirectory(config.tempDir, async (directory) => {
    const makeRunner = (readable: readonly string[]) =>
      confinement.runner(directory, [...readable, ...config.readablePaths]);
    const run = await runEngine(makeRunner, engine, request, signal);
    return { ...run, runtime: confinement.name };
  });
}
