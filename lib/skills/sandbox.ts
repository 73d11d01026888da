/** The second wall: runs one call of a skill as a process of its engine, in the OS sandbox. */

import { mkdtemp, realpath, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";

import { invalidValue } from "../errors.js";
import { expectFields, type FieldsOf } from "../fields.js";
import { homeDirectory } from "../protected-paths.js";
import {
  type ConfinementOptions,
  confine,
  kConfinementOptions,
  type SkillRuntimeName,
} from "./confinement.js";
import { type EngineRun, runEngine } from "./engine-process.js";
import type { SkillEngine, SkillRequest } from "./engines/engine.js";
import {
  checkInput,
  checkPath,
  checkTier,
  type ResolvedSkillLimits,
  resolveLimits,
  type SkillLimits,
  type TrustTier,
} from "./skill.js";

/** Options of `runSandboxed`. */
export type RunSandboxedOptions = ConfinementOptions & {
  /** The engine that runs the skill. */
  engine: SkillEngine;
  /** True for a component, false for a command module. Default false. */
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

/** The result of a sandboxed run. */
export type SandboxedSkillRun = EngineRun & {
  /** The runtime of the sandbox. */
  runtime: SkillRuntimeName;
};

/** Writable paths and network access are not supported: requests for them are refused. */
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
 * Runs a skill behind both walls: the engine's and the operating system's (Bubblewrap, or, if that does not
 * work, Landlock). The sandbox is tested before any skill runs in it; if none works, nothing runs.
 *
 * @throws (rejects) SandboxError if no sandbox is available or it can't be set up; SkillError if the engine
 * can't be started or the call is aborted; TypeError for a configuration that requests writable paths or
 * network.
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

/** The configuration of one call's sandbox. */
export type SkillSandboxConfig = {
  /** Absolute path of the skill's file. */
  wasmPath: string;
  /** The skill's standard input. */
  input: string;
  /** The skill's trust tier. */
  trustTier: TrustTier;
  /** Limits of the call. */
  resourceLimits: ResolvedSkillLimits;
  /** Host paths that can be read, besides the engine's own: the skill's directory. */
  readablePaths: readonly string[];
  /** Host paths that can be written: always empty. */
  writablePaths: readonly string[];
  /** Always false. */
  allowNetwork: boolean;
  /** The host directory below which each run gets a private directory, which is removed afterwards. */
  tempDir: string;
};

/** True if an absolute path is the directory, or below it. */
const isWithin = (path: string, directory: string) =>
  path === directory || path.startsWith(directory === "/" ? "/" : `${directory}/`);

/** Directories that hold more than one skill, as do those above them. */
const kShared = ["/tmp", "/var/tmp", "/etc", "/root", "/run", "/proc", "/sys", "/dev", "/usr/bin"];

/**
 * Returns the directory that holds a skill. The sandbox exposes all of it, so a directory that also holds
 * other files is refused: the user's home, the temporary directory, and the directories above them.
 */
function skillDirectory(wasmPath: string): string {
  const directory = dirname(wasmPath);
  const shared = [homeDirectory(), tmpdir(), ...kShared];
  if (!shared.some((place) => isWithin(place, directory))) return directory;
  throw invalidValue(
    `\`wasmPath\` lies in ${directory}, all of which its sandbox would show; give the skill a directory of its own`,
  );
}

/**
 * Builds the sandbox configuration for one call of a skill: it can read the skill's own directory, write
 * nothing, has no network and a private temporary directory. Does no I/O.
 *
 * @throws TypeError or RangeError naming the field; also for a skill in a directory that is not its own.
 */
export function buildConfigForSkill(
  wasmPath: string,
  input: string,
  tier: TrustTier,
  limits?: SkillLimits,
): SkillSandboxConfig {
  const path = resolve(checkPath("wasmPath", wasmPath));
  return {
    wasmPath: path,
    input: checkInput(input),
    trustTier: checkTier(tier),
    resourceLimits: resolveLimits(limits),
    readablePaths: [skillDirectory(path)],
    writablePaths: [],
    allowNetwork: false,
    tempDir: tmpdir(),
  };
}

/** Calls `use` with a new, empty directory below `parent` that only this user can enter. */
export async function withPrivateDirectory<Value>(
  parent: string,
  use: (directory: string) => Promise<Value>,
): Promise<Value> {
  const directory = await realpath(await mkdtemp(join(parent, "native-runner-skill-")));
  try {
    return await use(directory);
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}
