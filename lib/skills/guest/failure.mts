import type { AnswerMessage } from "./answer-shape.mjs";

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
