/** The one place where an answer of an engine, whatever ran it, becomes a result or an error. Pure. */

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

/**
 * Who kept a limit: the engine itself, this package's supervision (a deadline), or the operating
 * system; what it came to where that differs ("os: 2 s of CPU time").
 */
export type SkillEnforcement = {
  /** `maxMemoryBytes`. */
  memory: string;
  /** `maxDurationMs`. */
  time: string;
  /** `maxOutputBytes`. */
  output: string;
  /** Absent when no fuel limit was set. */
  fuel?: string;
};

/** What a skill's run gave. */
export type SkillExecutionResult = {
  /** What the skill wrote to its standard output, or what its `execute` returned. */
  output: string;
  /** Where the engine tells. */
  fuelConsumed?: number;
  /** Bytes of the linear memory at its end (it never shrinks), where the engine tells. */
  memoryPeakBytes?: number;
  /** Milliseconds, the start of the engine included. */
  durationMs: number;
  /** What the skill, and its engine, wrote to standard error. */
  stderr: string;
  /** The engine's name. */
  engine: string;
  /** What stood between the skill and the host: "wasm", and "os:bubblewrap" or "os:landlock". */
  walls: readonly string[];
  /** Who kept which limit. */
  enforced: SkillEnforcement;
  /** The records of the processes that ran; none for a direct run in a worker. */
  audits: SandboxedAuditRecord[];
};

/**
 * Why a skill has no output. ERR_SKILL_FAILED: it trapped, ended with an error, or is no module that
 * can run. ERR_SKILL_LIMIT: `limit` ended it. ERR_SKILL_PROTOCOL: what came back is no answer.
 * ERR_SKILL_ENGINE: no engine here can run it as asked; it did not start. ERR_SKILL_ABORTED: the
 * caller's signal. Where the OS sandbox is at fault, a `SandboxError` (ERR_SANDBOX_…) is thrown.
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
  /** What led to it, where something was thrown. */
  cause?: unknown;
};

/** A skill did not do its work; `code` is stable. */
export class SkillError extends Error {
  /** Why, for programs. */
  readonly code: SkillErrorCode;
  /** The limit that ended it, with ERR_SKILL_LIMIT. */
  readonly limit: SkillLimitName | undefined;
  /** The skill's own exit code, where it ended itself. */
  readonly exitCode: number | undefined;
  /** What the operator can do about it. */
  readonly fix: string | undefined;
  /** What the skill and its engine wrote to standard error; "" when nothing. */
  readonly stderr: string;
  /** Bytes of the linear memory at its end, where the engine tells. */
  readonly memoryPeakBytes: number | undefined;
  /** As in a result. */
  readonly engine: string | undefined;
  /** What stood between the skill and the host, as in a result; empty where it did not start. */
  readonly walls: readonly string[];
  /** The records of the processes that ran. */
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

/** A skill's file was fine when it was looked at, and could not be read afterwards. */
export function unreadable(path: string, cause: unknown): SkillError {
  const reason = cause instanceof Error ? cause.message : String(cause);
  return new SkillError(`${path} can't be read: ${reason}`, { code: "ERR_SKILL_ENGINE", cause });
}
