/**
 * The answer of an engine process or worker, as it travels: JSON with the field names of the request
 * and answer protocol. What comes over the border is checked by ../answer.ts.
 */

import { writeSync } from "node:fs";

/** What a skill's failure was. */
export type FailureKind =
  /** Not a module that can be instantiated: malformed, or it imports what there is not. */
  | "invalid"
  /** A trap: unreachable, out of bounds, call stack exhausted and so on. */
  | "trap"
  /** It ended itself with an exit code other than 0, or returned an error. */
  | "exit"
  /** One of its limits ended it. */
  | "limit"
  /** What it wrote is no text. */
  | "protocol";

/** Limits that end a skill. */
export type SkillLimitName = "memory" | "time" | "fuel" | "output";

/** One answer. `output` is there when `success` is true, `error` and `error_kind` when it is not. */
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
  /** What the skill wrote to its standard error, as far as it was kept. */
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

/** A failure, before the measurements are added. */
export type Failure = Pick<AnswerMessage, "error" | "error_kind" | "limit" | "exit_code">;

/** What V8 says when it can't allocate the memory that a module asks for at its start. */
const kNoMemory = /could not allocate memory|cannot allocate|out of memory|allocation failed/i;

/** What V8 says of a module that needs more than --wasm-max-mem-pages at its start. */
const kOverMaximum = /initial memory size .* larger than implementation limit/i;

/** What an error that came out of WebAssembly is to a skill. */
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

/** A pipe that something has made non-blocking is full: its reader has to catch up. */
function write(bytes: Uint8Array): number {
  try {
    return writeSync(1, bytes);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EAGAIN") throw error;
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1);
    return 0;
  }
}

/** Writes a text to standard output, whatever kind of file that is. */
export function writeAll(text: string): void {
  const bytes = Buffer.from(text);
  for (let at = 0; at < bytes.length; ) at += write(bytes.subarray(at));
}
