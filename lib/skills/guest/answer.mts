/**
 * The answer of an engine process or worker: JSON with the field names of the request and answer protocol.
 * ../answer.ts checks answers from outside the host process.
 */

import { writeSync } from "node:fs";

/** The kind of a skill's failure. */
export type FailureKind =
  /** Not a module that can be instantiated: malformed, or with unknown imports. */
  | "invalid"
  /** A trap: unreachable, out of bounds, call stack exhausted and so on. */
  | "trap"
  /** The skill ended itself with an exit code other than 0, or returned an error. */
  | "exit"
  /** A limit ended the skill. */
  | "limit"
  /** The output is not valid text. */
  | "protocol";

/** Limits that end a skill. */
export type SkillLimitName = "memory" | "time" | "fuel" | "output";

/** One answer. `output` is set if `success` is true, otherwise `error` and `error_kind`. */
export type AnswerMessage = {
  success: boolean;
  output?: string;
  error?: string;
  error_kind?: FailureKind;
  limit?: SkillLimitName;
  exit_code?: number;
  fuel_consumed?: number;
  memory_peak_bytes?: number;
  duration_ms?: number;
  /** The kept part of the skill's standard error. */
  stderr?: string;
};

/** The request to an engine process, one JSON object on its standard input. */
export type RequestMessage = {
  wasm_path: string;
  input: string;
  trust_tier: string;
  resource_limits: {
    max_memory_bytes: number;
    max_duration_ms: number;
    max_fuel?: number;
    max_output_bytes: number;
  };
};

/** A failure, without the measurements. */
export type Failure = Pick<AnswerMessage, "error" | "error_kind" | "limit" | "exit_code">;

/** V8's message if it can't allocate the memory that a module requests at its start. */
const kNoMemory = /could not allocate memory|cannot allocate|out of memory|allocation failed/i;

/** V8's message for a module that needs more than --wasm-max-mem-pages at its start. */
const kOverMaximum = /initial memory size .* larger than implementation limit/i;

/** Returns the failure of a skill for an error thrown by WebAssembly. */
export function failureOf(error: unknown): Failure {
  const message = error instanceof Error ? error.message : String(error);
  if (kNoMemory.test(message) || kOverMaximum.test(message)) {
    return { error_kind: "limit", limit: "memory", error: message };
  }
  if (error instanceof WebAssembly.CompileError || error instanceof WebAssembly.LinkError) {
    return { error_kind: "invalid", error: message };
  }
  if (error instanceof RangeError) {
    return { error_kind: "trap", error: "trap: call stack exhausted" };
  }
  return { error_kind: "trap", error: `trap: ${message}` };
}

/** Writes bytes; returns 0 if the output is a full pipe that another process made non-blocking. */
function write(bytes: Uint8Array): number {
  try {
    return writeSync(1, bytes);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EAGAIN") throw error;
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1);
    return 0;
  }
}

/** Writes a text to standard output, whatever its file type. */
export function writeAll(text: string): void {
  const bytes = Buffer.from(text);
  for (let at = 0; at < bytes.length; ) at += write(bytes.subarray(at));
}
