/** Defines a skill, and checks one from outside. */

import { invalidType, invalidValue } from "../errors.js";
import { expectFields, type FieldsOf } from "../fields.js";

/**
 * "local": the host's own native code, which no WASM engine runs. "verified": reviewed; runs with the engine
 * as its only wall. "untrusted": of unknown origin; runs behind the engine and the OS sandbox.
 */
export type TrustTier = "local" | "verified" | "untrusted";

/** Limits of one call of a skill. */
export type SkillLimits = {
  /** Bytes of the module's linear memory, 65 536 to 2^32; only whole pages are used. Default 128 MiB. */
  maxMemoryBytes?: number | undefined;
  /** Units of fuel, about one per instruction; see the engine's `enforces`. Default: no limit. */
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

/** A skill's description of itself. */
export type SkillManifest = {
  /** Name in results and errors; not empty. */
  name: string;
  /** Version for people; not evaluated. */
  version?: string | undefined;
};

/** A skill: a WASI preview 1 command module, or a component that exports `execute`. */
export type Skill = {
  /** The skill's manifest. */
  manifest: SkillManifest;
  /**
   * The .wasm file, a regular file: a module of at most 64 MiB, or a component of at most 16 MiB. For an
   * untrusted skill, the sandbox exposes only the directory of this file.
   */
  wasmPath: string;
  /** Determines the walls that the skill runs behind. */
  trustTier: TrustTier;
  /** Limits of one call; omitted ones have their defaults. */
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

/** Maximum size in bytes of a module. */
export const kMaxModuleBytes = 64 * kMiB;

/** Maximum size in bytes of a component: it is sent to its toolchain as text. */
export const kMaxComponentBytes = 16 * kMiB;

/** Maximum size in bytes of an input. */
const kMaxInputBytes = 16 * kMiB;

/** Maximum value of `maxOutputBytes`. */
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

/** @throws TypeError or RangeError naming the field. */
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

/** @throws TypeError naming the field. */
export function checkTier(tier: unknown): TrustTier {
  const known = kTiers.find((each) => each === tier);
  if (known !== undefined) return known;
  throw invalidType("trustTier", '"local", "verified" or "untrusted"', tier);
}

/** @throws TypeError naming the field. */
export function checkPath(field: string, path: unknown): string {
  if (typeof path !== "string" || path === "" || path.includes("\0")) {
    throw invalidType(field, "a path", path);
  }
  return path;
}

/** @throws TypeError or RangeError naming the field. */
export function checkInput(input: unknown): string {
  if (typeof input !== "string") throw invalidType("input", "a string", input);
  const size = Buffer.byteLength(input);
  if (size > kMaxInputBytes) {
    throw outOfRange("input", `at most ${kMaxInputBytes} bytes long`, size);
  }
  return input;
}

/**
 * Returns a checked copy of the skill with all limits set.
 * @throws TypeError or RangeError naming the field; a "local" skill is refused, since it is native code that
 * no WASM engine runs.
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
 * True if skills of this tier also run behind the OS sandbox: always for untrusted ones.
 * @throws TypeError for an unknown tier, so that a misspelled one is never treated as trusted.
 */
export function shouldUseOsSandbox(tier: TrustTier): boolean {
  return checkTier(tier) === "untrusted";
}
