import { tmpdir } from "node:os";
import { dirname, resolve } from "node:path";

import { invalidValue } from "../errors.js";
import { homeDirectory } from "../homes.js";
import {
  checkInput,
  checkPath,
  checkTier,
  type ResolvedSkillLimits,
  resolveLimits,
  type SkillLimits,
  type TrustTier,
} from "./skill.js";

/** Everything that the sandbox of one call is made from. */
export type SkillSandboxConfig = {
  /** Absolute. */
  wasmPath: string;
  /** The skill's standard input. */
  input: string;
  /** As the skill's own. */
  trustTier: TrustTier;
  /** What the call may use. */
  resourceLimits: ResolvedSkillLimits;
  /** Host paths that can be read, besides the engine's own: the skill's directory. */
  readablePaths: readonly string[];
  /** Host paths that can be written: none. */
  writablePaths: readonly string[];
  /** False. */
  allowNetwork: boolean;
  /** The directory on the host below which each run gets a private one, removed afterwards. */
  tempDir: string;
};

/** Whether an absolute path is a directory, or lies below it. */
export const isWithin = (path: string, directory: string) =>
  path === directory || path.startsWith(directory === "/" ? "/" : `${directory}/`);

/** Directories that hold more than one skill; so do those above them. */
const kShared = ["/tmp", "/var/tmp", "/etc", "/root", "/run", "/proc", "/sys", "/dev", "/usr/bin"];

/**
 * The directory that holds a skill. All of it is shown to the sandbox, so one that holds what is
 * not the skill's is refused: the user's home, the temporary directory, and what is above.
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
 * The sandbox for one call of a skill: it reads the skill's own directory, writes nothing, has no
 * network and a private temporary directory. Does no I/O.
 *
 * @throws TypeError or RangeError that names the field; also for a skill that lies in a directory
 * which is not its own.
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
