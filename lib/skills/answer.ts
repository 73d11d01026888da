/** The only place where an engine's answer, however it ran, becomes a result or an error. Pure. */

import * as v from "valibot";

import type { SandboxedAuditRecord } from "../../types/public.js";
import type { FailureKind, SkillLimitName } from "./guest/answer.mjs";

const amount = v.optional(v.pipe(v.number(), v.finite(), v.minValue(0)));
const kinds = ["invalid", "trap", "exit", "limit", "protocol"] as const;
const common = {
  fuel_consumed: amount,
  memory_peak_bytes: amount,
  duration_ms: amount,
  stderr: v.optional(v.string()),
};

const kAnswer = v.variant("success", [
  v.strictObject({ success: v.literal(true), output: v.string(), ...common }),
  v.strictObject({
    success: v.literal(false),
    error: v.string(),
    error_kind: v.optional(v.picklist(kinds)),
    limit: v.optional(v.picklist(["memory", "time", "fuel", "output"])),
    exit_code: v.optional(v.pipe(v.number(), v.integer())),
    ...common,
  }),
]);

type Measurements = {
  /** Units of fuel, if the engine reports them. */
  fuel_consumed?: number | undefined;
  /** Bytes of linear memory at the end, if the engine reports them. */
  memory_peak_bytes?: number | undefined;
  /** Milliseconds, if the engine reports them. */
  duration_ms?: number | undefined;
  /** The skill's standard error. */
  stderr?: string | undefined;
};

type SkillSuccess = Measurements & {
  /** The skill returned an output. */
  success: true;
  /** The skill's output. */
  output: string;
};

type SkillFailure = Measurements & {
  /** The skill returned no output. */
  success: false;
  /** The reason, for people. */
  error: string;
  /** The reason, for programs. */
  error_kind?: FailureKind | undefined;
  /** The exceeded limit, for the kind "limit". */
  limit?: SkillLimitName | undefined;
  /** The skill's own exit code, if it ended itself. */
  exit_code?: number | undefined;
};

/** A checked answer. */
export type SkillAnswer = SkillSuccess | SkillFailure;

function protocolFailure(error: string, stderr?: string): SkillAnswer {
  const rest = stderr === undefined || stderr === "" ? {} : { stderr };
  return { success: false, error_kind: "protocol", error, ...rest };
}

/** Returns the answer in a message, or a protocol failure if it is invalid. Never throws. */
export function checkAnswer(message: unknown): SkillAnswer {
  const checked = v.safeParse(kAnswer, message, { abortEarly: true });
  if (checked.success) return checked.output;
  const [issue] = checked.issues;
  const place = v.getDotPath(issue) ?? "it";
  return protocolFailure(`the engine's answer is malformed: ${place}: ${issue.message}`);
}

/**
 * Returns the answer in the bytes of a standard output, which must be exactly one JSON object. Never throws.
 */
export function parseAnswer(stdout: Uint8Array): SkillAnswer {
  if (stdout.length === 0) return protocolFailure("the engine gave no answer");
  let message: unknown;
  try {
    message = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(stdout));
  } catch {
    return protocolFailure("the engine's answer is no JSON");
  }
  return checkAnswer(message);
}

const kCodes: Record<FailureKind, SkillErrorCode> = {
  invalid: "ERR_SKILL_FAILED",
  trap: "ERR_SKILL_FAILED",
  exit: "ERR_SKILL_FAILED",
  limit: "ERR_SKILL_LIMIT",
  protocol: "ERR_SKILL_PROTOCOL",
};

/** Data of a run besides its answer. */
export type RunRecord = {
  /** The skill's name, for messages. */
  skill: string;
  engine: string;
  walls: readonly string[];
  enforced: SkillExecutionResult["enforced"];
  durationMs: number;
  audits: SandboxedAuditRecord[];
  /** The standard error of the engine's process. */
  stderr: string;
};

function failureOf(answer: SkillFailure, record: RunRecord): SkillError {
  const { error = "no reason given", error_kind: kind = "trap" } = answer;
  const details: SkillErrorDetails = {
    code: kCodes[kind],
    limit: kind === "limit" ? answer.limit : undefined,
    exitCode: answer.exit_code,
    memoryPeakBytes: answer.memory_peak_bytes,
    stderr: (answer.stderr ?? "") + record.stderr,
    engine: record.engine,
    walls: record.walls,
    audits: record.audits,
  };
  return new SkillError(`skill ${record.skill}: ${error}`, details);
}

/**
 * Returns the result that corresponds to an answer.
 * @throws SkillError if the answer is a failure.
 */
export function settle(answer: SkillAnswer, record: RunRecord): SkillExecutionResult {
  if (!answer.success) throw failureOf(answer, record);
  const { fuel_consumed: fuelConsumed, memory_peak_bytes: memoryPeakBytes } = answer;
  return {
    output: answer.output,
    ...(fuelConsumed === undefined ? {} : { fuelConsumed }),
    ...(memoryPeakBytes === undefined ? {} : { memoryPeakBytes }),
    durationMs: record.durationMs,
    stderr: (answer.stderr ?? "") + record.stderr,
    engine: record.engine,
    walls: record.walls,
    enforced: record.enforced,
    audits: record.audits,
  };
}

/**
 * Enforcer of each limit: the engine itself, this package's supervision (a deadline), or the operating
 * system; with the effective limit if it differs ("os: 2 s of CPU time").
 */
export type SkillEnforcement = {
  /** Enforcer of `maxMemoryBytes`. */
  memory: string;
  /** Enforcer of `maxDurationMs`. */
  time: string;
  /** Enforcer of `maxOutputBytes`. */
  output: string;
  /** Enforcer of `maxFuel`; absent if no fuel limit was set. */
  fuel?: string;
};

/** The result of a skill's run. */
export type SkillExecutionResult = {
  /** The skill's standard output, or the return value of its `execute`. */
  output: string;
  /** Units of fuel, if the engine reports them. */
  fuelConsumed?: number;
  /** Bytes of linear memory at the end (it never shrinks), if the engine reports them. */
  memoryPeakBytes?: number;
  /** Milliseconds, including the start of the engine. */
  durationMs: number;
  /** The standard error of the skill and its engine. */
  stderr: string;
  /** The engine's name. */
  engine: string;
  /** The walls between the skill and the host: "wasm", and "os:bubblewrap" or "os:landlock". */
  walls: readonly string[];
  /** The enforcer of each limit. */
  enforced: SkillEnforcement;
  /** The audit records of the processes that ran; empty for a direct run in a worker. */
  audits: SandboxedAuditRecord[];
};

/**
 * Why a skill has no output. ERR_SKILL_FAILED: it trapped, ended with an error, or is not a runnable module.
 * ERR_SKILL_LIMIT: `limit` ended it. ERR_SKILL_PROTOCOL: its answer is invalid. ERR_SKILL_ENGINE: no engine
 * here can run it as requested; it did not start. ERR_SKILL_ABORTED: the caller's signal was aborted. If the
 * OS sandbox failed, a `SandboxError` (ERR_SANDBOX_…) is thrown instead.
 */
export type SkillErrorCode =
  | "ERR_SKILL_FAILED"
  | "ERR_SKILL_LIMIT"
  | "ERR_SKILL_PROTOCOL"
  | "ERR_SKILL_ENGINE"
  | "ERR_SKILL_ABORTED";

/** Details of a {@link SkillError}. */
export type SkillErrorDetails = {
  /** See {@link SkillErrorCode}. */
  code: SkillErrorCode;
  /** See {@link SkillError.limit}. */
  limit?: SkillLimitName | undefined;
  /** See {@link SkillError.exitCode}. */
  exitCode?: number | undefined;
  /** See {@link SkillError.fix}. */
  fix?: string | undefined;
  /** See {@link SkillError.stderr}. Default "". */
  stderr?: string | undefined;
  /** See {@link SkillError.memoryPeakBytes}. */
  memoryPeakBytes?: number | undefined;
  /** See {@link SkillError.engine}. */
  engine?: string | undefined;
  /** See {@link SkillError.walls}. Default none. */
  walls?: readonly string[] | undefined;
  /** See {@link SkillError.audits}. Default none. */
  audits?: readonly SandboxedAuditRecord[] | undefined;
  /** The error that caused this one, if any. */
  cause?: unknown;
};

/** A skill returned no output; `code` is stable. */
export class SkillError extends Error {
  /** The reason, for programs. */
  readonly code: SkillErrorCode;
  /** The limit that ended it, with ERR_SKILL_LIMIT. */
  readonly limit: SkillLimitName | undefined;
  /** The skill's own exit code, if it ended itself. */
  readonly exitCode: number | undefined;
  /** How the operator can fix it. */
  readonly fix: string | undefined;
  /** The standard error of the skill and its engine; "" if empty. */
  readonly stderr: string;
  /** Bytes of linear memory at the end, if the engine reports them. */
  readonly memoryPeakBytes: number | undefined;
  /** The engine's name, as in a result. */
  readonly engine: string | undefined;
  /** The walls between the skill and the host, as in a result; empty if it did not start. */
  readonly walls: readonly string[];
  /** The audit records of the processes that ran. */
  readonly audits: readonly SandboxedAuditRecord[];

  constructor(message: string, details: SkillErrorDetails) {
    super(message, details.cause === undefined ? undefined : { cause: details.cause });
    this.name = "SkillError";
    this.code = details.code;
    this.limit = details.limit;
    this.exitCode = details.exitCode;
    this.fix = details.fix;
    this.stderr = details.stderr ?? "";
    this.memoryPeakBytes = details.memoryPeakBytes;
    this.engine = details.engine;
    this.walls = details.walls ?? [];
    this.audits = details.audits ?? [];
  }
}

/** A skill's file passed the check, but could not be read afterwards. */
export function unreadable(path: string, cause: unknown): SkillError {
  const reason = cause instanceof Error ? cause.message : String(cause);
  return new SkillError(`${path} can't be read: ${reason}`, { code: "ERR_SKILL_ENGINE", cause });
}
