/**
 * Converts values to JSON without coercion: values that JSON lacks are refused, or marked. The other side thus checks
 * the original value, not what JSON would make of it.
 */

import type { Outcome, SandboxErrorCode } from "../../../types/public.js";
import type { Change } from "../../../types/transaction.js";
import { invalidType, SandboxError, TransactionError, WaitForPortError } from "../../errors.js";
import { WorkspaceError, type WorkspaceErrorCode } from "../workspace/exchange.js";
import { WireError } from "./frame.js";
import type { WireErrorShape } from "./messages.js";

const kDeepest = 16;
/** Results contain values that callers have given, and so are deeper. */
const kDeepestReceived = 64;

/** Numbers that JSON lacks. */
const kNumbers: ReadonlyMap<unknown, number> = new Map([
  ["-0", -0],
  ["Infinity", Number.POSITIVE_INFINITY],
  ["-Infinity", Number.NEGATIVE_INFINITY],
  ["NaN", Number.NaN],
]);

function wrong(): never {
  throw new WireError("a value is marked as what it is not");
}

/**
 * Decoders of marked values: objects with exactly one such field. `$object` marks an object that has such a field name
 * itself.
 */
const kMarks: Readonly<Record<string, (value: unknown, depth: number) => unknown>> = {
  $number: (value) => kNumbers.get(value) ?? wrong(),
  $bytes: (value) =>
    typeof value === "string" ? new Uint8Array(Buffer.from(value, "base64")) : wrong(),
  // The time of an invalid date is NaN, which JSON writes as null.
  $date: (value) =>
    typeof value === "number" || value === null ? new Date(value ?? Number.NaN) : wrong(),
  $object: (value, depth) =>
    typeof value === "object" && value !== null ? fieldsOf(value, depth) : wrong(),
};

const isMark = (name: string) => Object.hasOwn(kMarks, name);

/**
 * Returns a copy that survives JSON. Omits `undefined` fields; reads each field once.
 * @throws TypeError that names the field that can't be sent
 */
export function toPlain(value: unknown, field: string, depth = 0): unknown {
  if (value === null || typeof value === "string" || typeof value === "boolean") return value;
  if (typeof value === "number") return plainNumber(value);
  if (value instanceof Uint8Array) return { $bytes: Buffer.from(value).toString("base64") };
  if (value instanceof Date) return { $date: value.getTime() };
  if (typeof value !== "object" || ArrayBuffer.isView(value) || depth > kDeepest) {
    throw invalidType(field, "a value that can be sent to another machine", value);
  }
  if (Array.isArray(value)) {
    return Array.from(value, (each, index) => toPlain(each, `${field}[${index}]`, depth + 1));
  }
  const copy: Record<string, unknown> = {};
  let isMarked = false;
  for (const [name, each] of Object.entries(value)) {
    if (each === undefined) continue;
    put(copy, name, toPlain(each, `${field}.${name}`, depth + 1));
    isMarked ||= isMark(name);
  }
  return isMarked ? { $object: copy } : copy;
}

/** Sets an own field, even for a name with a setter. */
function put(copy: Record<string, unknown>, name: string, value: unknown): void {
  if (name !== "__proto__") {
    copy[name] = value;
    return;
  }
  Object.defineProperty(copy, name, {
    value,
    enumerable: true,
    writable: true,
    configurable: true,
  });
}

function plainNumber(value: number): unknown {
  if (Object.is(value, -0)) return { $number: "-0" };
  return Number.isFinite(value) ? value : { $number: String(value) };
}

/**
 * Returns the value given to {@link toPlain}, without undefined fields.
 * @throws WireError if it is too deep
 */
export function fromPlain(value: unknown, depth = 0): unknown {
  if (typeof value !== "object" || value === null) return value;
  if (depth > kDeepestReceived) throw new WireError("a value is too deep");
  if (Array.isArray(value)) return value.map((each) => fromPlain(each, depth + 1));
  const [name, ...more] = Object.keys(value);
  const marked = name === undefined || more.length > 0 ? undefined : kMarks[name];
  if (marked === undefined || name === undefined || !isMark(name)) return fieldsOf(value, depth);
  return marked((value as Record<string, unknown>)[name], depth + 1);
}

function fieldsOf(value: object, depth: number): object {
  const copy: Record<string, unknown> = {};
  for (const [name, each] of Object.entries(value)) put(copy, name, fromPlain(each, depth + 1));
  return copy;
}

/** Errors on the wire: made on a worker, thrown to the caller. Pure. */

const kMostText = 4_000;
/** Most characters of each list of an error; three bytes of UTF-8 each, all lists fit into a frame. */
const kMostListed = 1_500_000;

/** Returns as many items of a list, from its beginning, as an error has room for. */
function fitting<Item>(list: readonly Item[]): Item[] {
  let size = 0;
  const end = list.findIndex((each) => {
    size += JSON.stringify(each).length + 1;
    return size > kMostListed;
  });
  return end < 0 ? [...list] : list.slice(0, end);
}

/** Returns the parts of an error that are sent: its message, never its stack in the worker. */
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
    ...(refused && {
      paths: fitting(refused.paths),
      changes: fitting(refused.conflicts),
      ...(refused.reasons && { reasons: fitting(refused.reasons) }),
    }),
  };
}

const kSandboxCodes: readonly string[] = [
  "ERR_SANDBOX_UNAVAILABLE",
  "ERR_SANDBOX_SETUP",
  "ERR_SANDBOX_CLOSED",
  "ERR_COMMAND_BLOCKED",
] satisfies SandboxErrorCode[];

/** Returns the error of a shape, made here, so that its stack leads to the caller. */
export function errorOf({
  name,
  message,
  code,
  fix,
  paths = [],
  changes = [],
  reasons,
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
      reasons,
    );
  }
  if (name === "WorkspaceError") return new WorkspaceError(message, code as WorkspaceErrorCode);
  if (name === "WaitForPortError" && port !== undefined) {
    return new WaitForPortError(message, { port, fix, outcome: outcome as Outcome | undefined });
  }
  const Kind = name === "TypeError" ? TypeError : name === "RangeError" ? RangeError : Error;
  return Object.assign(new Kind(message), code !== undefined && { code });
}
