/** Errors that travel: made on a worker, thrown to whoever has called. Pure. */

import type { Outcome, SandboxErrorCode } from "../../../types/public.js";
import type { Change } from "../../../types/transaction.js";
import { SandboxError } from "../../errors.js";
import { TransactionError } from "../../runners/transactions/transaction-error.js";
import { WaitForPortError } from "../../runners/wait-for-port-error.js";
import { WorkspaceError, type WorkspaceErrorCode } from "../workspace/workspace-error.js";
import type { WireErrorShape } from "./messages.js";

const kMostText = 4_000;

/** What is told of an error: what it says, never where in the worker it comes from. */
export function errorShape(error: unknown): WireErrorShape {
  if (!(error instanceof Error)) return { name: "Error", message: String(error) };
  const { name, message } = error;
  const { code, fix } = error as { code?: unknown; fix?: unknown };
  const refused = error instanceof TransactionError ? error : undefined;
  const unheard = error instanceof WaitForPortError ? error : undefined;
  return {
    name,
    message: message.slice(0, kMostText),
    ...(typeof code === "string" && { code }),
    ...(typeof fix === "string" && { fix }),
    ...(unheard && { port: unheard.port, outcome: unheard.outcome }),
    ...(refused && { paths: [...refused.paths], changes: [...refused.conflicts] }),
  };
}

const kSandboxCodes: readonly string[] = [
  "ERR_SANDBOX_UNAVAILABLE",
  "ERR_SANDBOX_SETUP",
  "ERR_SANDBOX_CLOSED",
  "ERR_COMMAND_BLOCKED",
] satisfies SandboxErrorCode[];

/** The error that was meant, made here, so that its stack leads to the caller. */
export function errorOf({
  name,
  message,
  code,
  fix,
  paths = [],
  changes = [],
  port,
  outcome,
}: WireErrorShape): Error {
  if (code !== undefined && kSandboxCodes.includes(code)) {
    return new SandboxError(message, { code: code as SandboxErrorCode, fix });
  }
  if (name === "TransactionError") {
    return new TransactionError(
      message,
      code as TransactionError["code"],
      paths,
      changes as Change[],
    );
  }
  if (name === "WorkspaceError") return new WorkspaceError(message, code as WorkspaceErrorCode);
  if (name === "WaitForPortError" && port !== undefined) {
    return new WaitForPortError(message, { port, fix, outcome: outcome as Outcome | undefined });
  }
  const Kind = name === "TypeError" ? TypeError : name === "RangeError" ? RangeError : Error;
  return Object.assign(new Kind(message), code !== undefined && { code });
}
