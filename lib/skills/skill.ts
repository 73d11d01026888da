/** What a skill is, and the check of one that came from outside. */

import { invalidType, invalidValue } from "../errors.js";
import { expectFields, type FieldsOf } from "../fields.js";

/**
 * "local": the host's own native code, which no WASM engine runs. "verified": reviewed, runs with
 * the engine as its only wall. "untrusted": written by strangers, runs behind the engine and the OS
 * sandbox.
 */
export type TrustTier = "local" | "verified" | "untrusted";

/** What one call of a skill may use. */
export type SkillLimits = {
  /** Bytes of the module's linear memory, 65 536 to 2^32; used in whole pages. Default 128 MiB. */
  maxMemoryBytes?: number | undefined;
  /** Units of fuel, about one for an instruction; see the engine's `enforces`. Default none. */
  maxFuel?: number | undefined;
  /** Milliseconds from the start of the engine to the skill's end, > 0. Default 30 000. */
  maxDurationMs?: number | undefined;
  /** Bytes of output, up to 64 MiB. Default 1 MiB. */
  maxOutputBytes?: number | undefined;
};

/** Limits with their defaults filled in. */
export type ResolvedSkillLimits = {
  /** Bytes of linear memory. */
  maxMemoryBytes: number;
  /** Units of fuel; undefined: no limit. */
  maxFuel: number | undefined;
  /** Milliseconds. */
  maxDurationMs: number;
  /** Bytes of output. */
  maxOutputBytes: number;
};

/** What a skill says of itself. */
export type SkillManifest = {
  /** In results and errors; not empty. */
  name: string;
  /** For people; nothing is decided by it. */
  version?: string | undefined;
};

/** A skill: a WASI preview 1 command module, or a component that exports `execute`. */
export type Skill = {
  /** What it says of itself. */
  manifest: SkillManifest;
  /**
   * The .wasm file, a regular one: a module of at most 64 MiB, or a component of at most 16. For an untrusted skill, its directory is all that the sandbox shows of it.
   */
  wasmPath: string;
  /** Which walls it is run behind. */
  trustTier: TrustTier;
  /** What one call may use; what is left out has its default. */
  resourceLimits?: SkillLimits | undefined;
};

const kSkill: FieldsOf<Skill> = {
  manifest: true,
  wasmPath: true,
  trustTier: true,
  resourceLimits: true,
};
const kManifest: FieldsOf<SkillManifest> = { name: true, version: true };
const kLimits: FieldsOf<SkillLimits> = {
  maxMemoryBytes: true,
  maxFuel: true,
  maxDurationMs: true,
  maxOutputBytes: true,
};

const kMiB = 1024 ** 2;
const kTiers = ["local", "verified", "untrusted"] as const;

/** Bytes of the largest module. */
export const kMaxModuleBytes = 64 * kMiB;

/** Bytes of the largest component: it travels to its toolchain as text. */
export const kMaxComponentBytes = 16 * kMiB;

/** Most bytes of an input. */
const kMaxInputBytes = 16 * kMiB;

/** Bytes of the largest `maxOutputBytes`. */
const kMaxOutputBytes = 64 * kMiB;

function outOfRange(field: string, expected: string, value: number): RangeError {
  const message = `Expected \`${field}\` to be ${expected}, got ${value}`;
  return Object.assign(new RangeError(message), { code: "ERR_OUT_OF_RANGE" });
}

function integer(
  limits: SkillLimits,
  name: "maxMemoryBytes" | "maxFuel" | "maxOutputBytes",
  [min, max]: readonly [number, number],
): number | undefined {
  const value = limits[name];
  if (value === undefined) return undefined;
  const field = `resourceLimits.${name}`;
  if (typeof value !== "number") throw invalidType(field, "an integer", value);
  if (Number.isInteger(value) && value >= min && value <= max) return value;
  throw outOfRange(field, `an integer from ${min} to ${max}`, value);
}

/** @throws TypeError or RangeError that names the field. */
export function resolveLimits(limits: SkillLimits | undefined): ResolvedSkillLimits {
  if (limits !== undefined) expectFields(limits, "resourceLimits", kLimits);
  const own: SkillLimits = { ...limits };
  const { maxDurationMs = 30_000 } = own;
  if (typeof maxDurationMs !== "number") {
    throw invalidType("resourceLimits.maxDurationMs", "a number above 0", maxDurationMs);
  }
  if (!(maxDurationMs > 0) || maxDurationMs > 2 ** 31 - 1) {
    const field = "resourceLimits.maxDurationMs";
    throw outOfRange(field, "above 0 and at most 2147483647", maxDurationMs);
  }
  return {
    maxMemoryBytes: integer(own, "maxMemoryBytes", [65_536, 2 ** 32]) ?? 128 * kMiB,
    maxFuel: integer(own, "maxFuel", [1, Number.MAX_SAFE_INTEGER]),
    maxDurationMs,
    maxOutputBytes: integer(own, "maxOutputBytes", [0, kMaxOutputBytes]) ?? kMiB,
  };
}

/** @throws TypeError that names the field. */
export function checkTier(tier: unknown): TrustTier {
  const known = kTiers.find((each) => each === tier);
  if (known !== undefined) return known;
  throw invalidType("trustTier", '"local", "verified" or "untrusted"', tier);
}

/** @throws TypeError that names the field. */
export function checkPath(field: string, path: unknown): string {
  if (typeof path !== "string" || path === "" || path.includes("\0")) {
    throw invalidType(field, "a path", path);
  }
  return path;
}

/** @throws TypeError or RangeError that names the field. */
export function checkInput(input: unknown): string {
  if (typeof input !== "string") throw invalidType("input", "a string", input);
  const size = Buffer.byteLength(input);
  if (size > kMaxInputBytes) {
    throw outOfRange("input", `at most ${kMaxInputBytes} bytes long`, size);
  }
  return input;
}

/**
 * The skill's own copy, checked, with all limits.
 * @throws TypeError or RangeError that names the field; a "local" skill is refused, since it is
 * native code and none of a WASM engine's.
 */
export function checkSkill(skill: Skill): Skill & { resourceLimits: ResolvedSkillLimits } {
  expectFields(skill, "skill", kSkill);
  const { manifest, wasmPath, trustTier, resourceLimits } = skill;
  expectFields(manifest, "manifest", kManifest);
  const { name, version } = manifest;
  if (typeof name !== "string" || name === "") {
    throw invalidType("manifest.name", "a string that is not empty", name);
  }
  if (version !== undefined && typeof version !== "string") {
    throw invalidType("manifest.version", "a string", version);
  }
  const tier = checkTier(trustTier);
  if (tier === "local") {
    const reason = "local skills are native code of the host, which no WASM engine runs";
    throw invalidValue(`Expected \`trustTier\` to be "verified" or "untrusted": ${reason}`);
  }
  return {
    manifest: { name, version },
    wasmPath: checkPath("wasmPath", wasmPath),
    trustTier: tier,
    resourceLimits: resolveLimits(resourceLimits),
  };
}

/**
 * Whether skills of this tier run behind the OS sandbox as well: untrusted ones, always.
 * @throws TypeError for what is no tier, so that a misspelt one is never taken for a trusted one.
 */
export function shouldUseOsSandbox(tier: TrustTier): boolean {
  return checkTier(tier) === "untrusted";
}
