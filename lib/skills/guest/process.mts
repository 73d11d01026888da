/**
 * The engine process: reads one request from standard input, runs the skill, writes one answer to standard
 * output. The skill's own streams are in memory (see run-module.mts), so its output can't corrupt the answer.
 * Started by ../engines/node.ts, in the sandbox for untrusted skills; needs only Node and the files of this
 * directory.
 */

import { readFileSync } from "node:fs";

import { type AnswerMessage, failureOf, type RequestMessage, writeAll } from "./answer.mjs";
import { kPageBytes, readDeclaration } from "./module-limits.mjs";
import { runModule } from "./run-module.mjs";

function answerTo(request: RequestMessage): AnswerMessage {
  const { wasm_path: path, input, resource_limits: limits } = request;
  let bytes: Buffer;
  try {
    bytes = readFileSync(path);
  } catch (error) {
    return { success: false, error_kind: "invalid", error: String(error) };
  }
  // The process was started with --wasm-max-mem-pages, so V8 enforces the limit on every memory.
  const maxPages = Math.floor(limits.max_memory_bytes / kPageBytes);
  const { memory } = readDeclaration(bytes);
  if (memory !== undefined && memory.minPages > maxPages) {
    const error = `the module needs ${memory.minPages} pages of memory, the limit is ${maxPages}`;
    return { success: false, error_kind: "limit", limit: "memory", error };
  }
  const isCapped = memory === undefined || (memory.maxPages ?? Infinity) > maxPages;
  try {
    const module = new WebAssembly.Module(new Uint8Array(bytes));
    const cappedPages = isCapped ? maxPages : undefined;
    return runModule(module, { input, maxOutputBytes: limits.max_output_bytes, cappedPages });
  } catch (error) {
    return { success: false, ...failureOf(error) };
  }
}

const request = JSON.parse(readFileSync(0, "utf8")) as RequestMessage;
writeAll(JSON.stringify(answerTo(request)));
