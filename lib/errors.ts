/**
 * What is thrown. Misuse is a TypeError or RangeError with Node's codes, mostly made natively; a
 * sandbox that can't exist on this host is a SandboxError. What happens to a run is never thrown.
 */

import type { Outcome, SandboxErrorCode, SandboxedExecResult } from "../types/public.js";
import type { Change } from "../types/transaction.js";

/** Details of a {@link SandboxError}. */
export type SandboxErrorOptions = {
  /** See {@link SandboxErrorCode}. */
  code: SandboxErrorCode;
  /** What the operator can do about it. */
  fix?: string | undefined;
  /** See {@link SandboxError.results}. */
  results?: readonly SandboxedExecResult[] | undefined;
  /** What led to it, where something was thrown. */
  cause?: unknown;
};

/** A sandbox can't be had on this host; `code` is stable, `fix` says what to do when that is known. */
export class SandboxError extends Error {
  /** Why, for programs; see {@link SandboxErrorCode}. */
  readonly code: SandboxErrorCode;
  /** What the operator can do about it; undefined where nothing is known. */
  // `declare`: a field that is not there must not be printed as undefined with every error.
  declare readonly fix: string | undefined;
  /** Of `execBatch` whose sandbox was lost: of its first commands, which had ended by then. */
  declare readonly results: readonly SandboxedExecResult[] | undefined;

  constructor(message: string, options: SandboxErrorOptions) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = "SandboxError";
    this.code = options.code;
    if (options.fix !== undefined) this.fix = options.fix;
    if (options.results !== undefined) this.results = options.results;
  }
}

const kCodes: ReadonlySet<unknown> = new Set<SandboxErrorCode>([
  "ERR_SANDBOX_UNAVAILABLE",
  "ERR_SANDBOX_SETUP",
  "ERR_SANDBOX_CLOSED",
]);

function isSandboxCode(code: unknown): code is SandboxErrorCode {
  return kCodes.has(code);
}

/**
 * The addon's plain error with a sandbox code as a {@link SandboxError}, made here so that the stack
 * leads to the caller; anything else as it is.
 */
export function fromNative(error: unknown): unknown {
  if (!(error instanceof Error) || error instanceof SandboxError) return error;
  const { code, fix } = error as { code?: unknown; fix?: unknown };
  if (!isSandboxCode(code)) return error;
  return new SandboxError(error.message, {
    code,
    fix: typeof fix === "string" && fix !== "" ? fix : undefined,
    cause: error.cause,
  });
}

/** The same error with what had ended before it; what is no {@link SandboxError}, as it is. */
export function withResults(error: unknown, results: readonly SandboxedExecResult[]): unknown {
  if (!(error instanceof SandboxError)) return error;
  const { message, code, fix } = error;
  return new SandboxError(message, { code, fix, results, cause: error });
}

function describe(value: unknown): string {
  if (typeof value === "string") return JSON.stringify(value);
  if (typeof value === "function" || typeof value === "symbol") return `a ${typeof value}`;
  return typeof value === "object" && value !== null ? "an object" : String(value);
}

/** A TypeError for a field that only JavaScript can check, worded and coded as the native ones. */
export function invalidType(field: string, expected: string, value: unknown): TypeError {
  const message = `Expected \`${field}\` to be ${expected}, got ${describe(value)}`;
  return Object.assign(new TypeError(message), { code: "ERR_INVALID_ARG_TYPE" });
}

/** An Error for a call that does not fit what it is called on. */
export function invalidState(message: string): Error {
  return Object.assign(new Error(message), { code: "ERR_INVALID_STATE" });
}

/** A TypeError for a value that can't be used; `message` names it. */
export function invalidValue(message: string, cause?: unknown): TypeError {
  const error = new TypeError(message, cause === undefined ? undefined : { cause });
  return Object.assign(error, { code: "ERR_INVALID_ARG_VALUE" });
}

/**
 * Why a transaction can't be committed, a commit not be undone, or no checkpoint be made; the host's
 * files are as before.
 */
export class TransactionError extends Error {
  /**
   * ERR_TRANSACTION_CONFLICT: the host has changed the same files. ERR_TRANSACTION_PROTECTED: code of the
   * host's runs by itself what would be changed. ERR_TRANSACTION_UNEXPECTED: it is not what was expected.
   * ERR_TRANSACTION_BUSY: a command runs in it.
   */
  readonly code:
    | "ERR_TRANSACTION_CONFLICT"
    | "ERR_TRANSACTION_PROTECTED"
    | "ERR_TRANSACTION_UNEXPECTED"
    | "ERR_TRANSACTION_BUSY";
  /** The paths because of which, relative to the workspace. */
  readonly paths: readonly string[];
  /** The changes at these paths; none of an undo. */
  readonly conflicts: readonly Change[];

  constructor(
    message: string,
    code: TransactionError["code"],
    paths: readonly string[],
    conflicts: readonly Change[] = [],
  ) {
    super(message);
    this.name = "TransactionError";
    this.code = code;
    this.paths = paths;
    this.conflicts = conflicts;
  }
}

/** Details of a {@link WaitForPortError}. */
export type WaitForPortErrorOptions = {
  /** The port that was waited for. */
  port: number;
  /** What would help. */
  fix?: string | undefined;
  /** How the process ended, where that is why. */
  outcome?: Outcome | undefined;
};

/** Nothing listens on a port that `waitForPort` waits for; `code` is stable. */
export class WaitForPortError extends Error {
  /** For programs; the only one of this class. */
  readonly code = "ERR_SANDBOX_PORT";
  /** The port that was waited for. */
  readonly port: number;
  // `declare`: a field that is not there must not be printed as undefined with the error.
  /** What would help, when that is known. */
  declare readonly fix: string | undefined;
  /** How the process ended, where that is why. */
  declare readonly outcome: Outcome | undefined;

  constructor(message: string, options: WaitForPortErrorOptions) {
    super(message);
    this.name = "WaitForPortError";
    this.port = options.port;
    if (options.fix !== undefined) this.fix = options.fix;
    if (options.outcome !== undefined) this.outcome = options.outcome;
  }
}

/** For a process that has ended and never listened. */
export function endedBefore(
  port: number,
  { outcome, exitCode }: Pick<SandboxedExecResult, "outcome" | "exitCode">,
): WaitForPortError {
  const end = `${outcome.kind}, exit code ${exitCode}`;
  const message = `the process ended before it listened on port ${port}: ${end}`;
  return new WaitForPortError(message, { port, outcome });
}
