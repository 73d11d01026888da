/**
 * What is thrown. Misuse is a TypeError or RangeError with Node's codes, mostly made natively; a
 * sandbox that can't exist on this host is a SandboxError. What happens to a run is never thrown.
 */

import type { SandboxErrorCode, SandboxedExecResult } from "../types/public.js";

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
