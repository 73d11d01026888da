/** The one place where an answer of an engine, whatever ran it, becomes a result or an error. Pure. */

import * as v from "valibot";

import type { SandboxedAuditRecord } from "../../types/public.js";
import type { FailureKind, SkillLimitName } from "./guest/answer-shape.mjs";
import type { SkillExecutionResult } from "./result.js";
import { SkillError, type SkillErrorCode, type SkillErrorDetails } from "./skill-error.js";

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
  /** Units of fuel, where the engine tells. */
  fuel_consumed?: number | undefined;
  /** Bytes of linear memory at its end, where the engine tells. */
  memory_peak_bytes?: number | undefined;
  /** Milliseconds, where the engine tells. */
  duration_ms?: number | undefined;
  /** What the skill wrote to its standard error. */
  stderr?: string | undefined;
};

type SkillSuccess = Measurements & {
  /** Whether there is an output. */
  success: true;
  /** What the skill gave back. */
  output: string;
};

type SkillFailure = Measurements & {
  /** Whether there is an output. */
  success: false;
  /** Why there is none, for people. */
  error: string;
  /** Why there is none, for programs. */
  error_kind?: FailureKind | undefined;
  /** With the kind "limit". */
  limit?: SkillLimitName | undefined;
  /** The skill's own, where it ended itself. */
  exit_code?: number | undefined;
};

/** An answer that has been checked. */
export type SkillAnswer = SkillSuccess | SkillFailure;

function protocolFailure(error: string, stderr?: string): SkillAnswer {
  const rest = stderr === undefined || stderr === "" ? {} : { stderr };
  return { success: false, error_kind: "protocol", error, ...rest };
}

/** The answer in a message; one that says so when it is none. Never throws. */
export function checkAnswer(message: unknown): SkillAnswer {
  const checked = v.safeParse(kAnswer, message, { abortEarly: true });
  if (checked.success) return checked.output;
  const [issue] = checked.issues;
  const place = v.getDotPath(issue) ?? "it";
  return protocolFailure(`the engine's answer is malformed: ${place}: ${issue.message}`);
}

/** The answer in the bytes of a standard output: one JSON object and nothing else. Never throws. */
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

/** How a run went, besides its answer. */
export type RunRecord = {
  /** For messages. */
  skill: string;
  engine: string;
  walls: readonly string[];
  enforced: SkillExecutionResult["enforced"];
  durationMs: number;
  audits: SandboxedAuditRecord[];
  /** What the engine's process wrote to its standard error. */
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
 * The result that an answer stands for.
 * @throws SkillError when it is none of success.
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
