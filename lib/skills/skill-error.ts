import type { SandboxedAuditRecord } from "../../types/public.js";
import type { SkillLimitName } from "./guest/answer-shape.mjs";

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
