/**
 * The errors that this package throws. Misuse is a TypeError or RangeError with Node's codes, mostly created
 * natively; a sandbox that is not possible on this host is a SandboxError. The outcome of a run is never
 * thrown.
 */

import type { Outcome, SandboxErrorCode, SandboxedExecResult } from "../types/public.js";
import type { Change, MergeConflict } from "../types/transaction.js";
import { withGuess } from "./guesses.js";

/** Details of a {@link SandboxError}. */
export type SandboxErrorOptions = {
  /** See {@link SandboxErrorCode}. */
  code: SandboxErrorCode;
  /** How the operator can fix it. */
  fix?: string | undefined;
  /** See {@link SandboxError.results}. */
  results?: readonly SandboxedExecResult[] | undefined;
  /** The error that caused this one, if any. */
  cause?: unknown;
};

/** No sandbox is available on this host; `code` is stable, `fix` tells what to do if known. */
export class SandboxError extends Error {
  /** The reason, for programs; see {@link SandboxErrorCode}. */
  readonly code: SandboxErrorCode;
  /** How the operator can fix it; undefined if unknown. */
  // `declare`: an absent field must not be printed as undefined with every error.
  declare readonly fix: string | undefined;
  /** For an `execBatch` whose sandbox was lost: the results of the commands that had ended before. */
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
 * Returns the addon's plain error with a sandbox code as a {@link SandboxError}, created here so that the
 * stack leads to the caller; any other value unchanged.
 */
export function fromNative(error: unknown): unknown {
  if (!(error instanceof Error) || error instanceof SandboxError) return error;
  const { code, fix } = error as { code?: unknown; fix?: unknown };
  if (code === "ERR_INVALID_ARG_VALUE") error.message = withGuess(error.message);
  if (!isSandboxCode(code)) return error;
  return new SandboxError(error.message, {
    code,
    fix: typeof fix === "string" && fix !== "" ? fix : undefined,
    cause: error.cause,
  });
}

/**
 * Returns the same error with the results that preceded it; any value but a {@link SandboxError} unchanged.
 */
export function withResults(error: unknown, results: readonly SandboxedExecResult[]): unknown {
  if (!(error instanceof SandboxError)) return error;
  const { message, code, fix } = error;
  return new SandboxError(message, { code, fix, results, cause: error });
}

function describe(value: unknown): string {
  if (typeof value === "string") return JSON.stringify(value);
  if (typeof value === "function" || typeof value === "symbol") return `a ${typeof value}`;
  if (Array.isArray(value)) return "an array";
  return typeof value === "object" && value !== null ? "an object" : String(value);
}

/** Creates a TypeError for a field that only JavaScript can check, with the native wording and code. */
export function invalidType(field: string, expected: string, value: unknown): TypeError {
  const message = `Expected \`${field}\` to be ${expected}, got ${describe(value)}`;
  return Object.assign(new TypeError(message), { code: "ERR_INVALID_ARG_TYPE" });
}

/** Creates an Error for a call that is invalid in the current state of its object. */
export function invalidState(message: string): Error {
  return Object.assign(new Error(message), { code: "ERR_INVALID_STATE" });
}

/** Creates a TypeError for an unusable value; `message` names it. */
export function invalidValue(message: string, cause?: unknown): TypeError {
  const error = new TypeError(message, cause === undefined ? undefined : { cause });
  return Object.assign(error, { code: "ERR_INVALID_ARG_VALUE" });
}

/**
 * A transaction can't be committed, a commit can't be undone, a checkpoint can't be made, or there is no room for a
 * command; the host's files are unchanged.
 */
export class TransactionError extends Error {
  /**
   * ERR_TRANSACTION_CONFLICT: the host, or the other side of a merge, has changed the same files. ERR_TRANSACTION_PROTECTED: a changed file
   * is run by code of the host on its own. ERR_TRANSACTION_UNEXPECTED: a change differs from what was
   * expected. ERR_TRANSACTION_BUSY: a command runs in the transaction. ERR_TRANSACTION_FULL: the transactions of the
   * workspace hold as much as `maxTransactionBytes` allows.
   */
  readonly code:
    | "ERR_TRANSACTION_CONFLICT"
    | "ERR_TRANSACTION_PROTECTED"
    | "ERR_TRANSACTION_UNEXPECTED"
    | "ERR_TRANSACTION_BUSY"
    | "ERR_TRANSACTION_FULL";
  /** The paths that caused the error, relative to the workspace. */
  readonly paths: readonly string[];
  /** The changes at these paths; empty for an undo and a merge. */
  readonly conflicts: readonly Change[];
  /** Of a merge, and of a commit with `merge`: what both sides have done at each of the paths. */
  declare readonly reasons: readonly MergeConflict[] | undefined;

  constructor(
    message: string,
    code: TransactionError["code"],
    paths: readonly string[],
    conflicts: readonly Change[] = [],
    reasons?: readonly MergeConflict[],
  ) {
    super(message);
    this.name = "TransactionError";
    this.code = code;
    this.paths = paths;
    this.conflicts = conflicts;
    if (reasons !== undefined) this.reasons = reasons;
  }
}

/** Details of an {@link ImageError}. */
export type ImageErrorOptions = {
  code: ImageError["code"];
  /** How to fix it, if known. */
  fix?: string | undefined;
  /** The error that caused this one, if any. */
  cause?: unknown;
};

/** An image can't be used as a root file system; `code` is stable. Nothing of it is left on disk. */
export class ImageError extends Error {
  /**
   * ERR_IMAGE_NOT_FOUND: there is no such image, tag, digest or platform. ERR_IMAGE_INVALID: it breaks the rules of its
   * format, or is not what its digests say. ERR_IMAGE_UNSUPPORTED: this Node.js, or this package, can't read it.
   * ERR_IMAGE_TOO_LARGE: it has more than its limits allow. ERR_IMAGE_STORE: the directory where images are kept can't
   * be used. ERR_IMAGE_PULL: a registry does not give it.
   */
  readonly code:
    | "ERR_IMAGE_NOT_FOUND"
    | "ERR_IMAGE_INVALID"
    | "ERR_IMAGE_UNSUPPORTED"
    | "ERR_IMAGE_TOO_LARGE"
    | "ERR_IMAGE_STORE"
    | "ERR_IMAGE_PULL";
  // `declare`: an absent field must not be printed as undefined with every error.
  /** How to fix it; undefined if unknown. */
  declare readonly fix: string | undefined;

  constructor(message: string, { code, fix, cause }: ImageErrorOptions) {
    super(message, cause === undefined ? undefined : { cause });
    this.name = "ImageError";
    this.code = code;
    if (fix !== undefined) this.fix = fix;
  }
}

/** Details of a {@link WaitForPortError}. */
export type WaitForPortErrorOptions = {
  /** The port in the sandbox. */
  port: number;
  /** How to fix it. */
  fix?: string | undefined;
  /** How the process ended, if its end is the cause. */
  outcome?: Outcome | undefined;
};

/** Details of a {@link ForwardError}. */
export type ForwardErrorOptions = WaitForPortErrorOptions;

/** What the errors of a sandbox's ports have. */
abstract class PortError extends Error {
  /** The port in the sandbox. */
  readonly port: number;
  // `declare`: an absent field must not be printed as undefined with the error.
  /** How to fix it, if known. */
  declare readonly fix: string | undefined;
  /** How the process ended, if its end is the cause. */
  declare readonly outcome: Outcome | undefined;

  constructor(name: string, message: string, { port, fix, outcome }: WaitForPortErrorOptions) {
    super(message);
    this.name = name;
    this.port = port;
    if (fix !== undefined) this.fix = fix;
    if (outcome !== undefined) this.outcome = outcome;
  }
}

/** No process listens on a port that `waitForPort` waits for; `code` is stable. */
export class WaitForPortError extends PortError {
  /** For programs; the only code of this class. */
  readonly code = "ERR_SANDBOX_PORT";

  constructor(message: string, options: WaitForPortErrorOptions) {
    super("WaitForPortError", message, options);
  }
}

/** A port can't be forwarded into a sandbox; `code` is stable. */
export class ForwardError extends PortError {
  /** For programs; the only code of this class. */
  readonly code = "ERR_SANDBOX_FORWARD";

  constructor(message: string, options: ForwardErrorOptions) {
    super("ForwardError", message, options);
  }
}

/** Creates the error for a process that ended without ever listening. */
export function endedBefore(
  port: number,
  { outcome, exitCode }: Pick<SandboxedExecResult, "outcome" | "exitCode">,
): WaitForPortError {
  const end = `${outcome.kind}, exit code ${exitCode}`;
  const message = `the process ended before it listened on port ${port}: ${end}`;
  return new WaitForPortError(message, { port, outcome });
}
