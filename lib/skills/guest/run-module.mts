/** Runs one WASI command module to its end, in the thread that calls. */

import { WASI } from "node:wasi";

import type { AnswerMessage } from "./answer-shape.mjs";
import { type Failure, failureOf } from "./failure.mjs";
import { kPageBytes } from "./module-limits.mjs";
import { OutputLimitReached, Stdio } from "./stdio.mjs";

/** Bytes of a skill's standard error that are kept. */
export const kMaxSkillStderrBytes = 65_536;

const kWasi = "wasi_snapshot_preview1";

export type ModuleRun = {
  input: string;
  maxOutputBytes: number;
  /** Pages that we allow; undefined when the module itself declares no more. */
  cappedPages: number | undefined;
};

/** Why the module can't be a skill, in words that name what is wrong. */
function whyNoCommand(module: WebAssembly.Module): string | undefined {
  const foreign = WebAssembly.Module.imports(module).find(({ module: from }) => from !== kWasi);
  if (foreign !== undefined) {
    const { module: from, name } = foreign;
    return `it imports ${from}.${name}; a skill has ${kWasi} only`;
  }
  const names = WebAssembly.Module.exports(module);
  if (!names.some(({ name, kind }) => name === "_start" && kind === "function")) {
    return "it is no WASI command: it exports no function _start";
  }
  if (!names.some(({ name, kind }) => name === "memory" && kind === "memory")) {
    return "it is no WASI command: it exports no memory";
  }
  return undefined;
}

/** A skill that failed with hardly any memory left to grow is taken to have needed more. */
function wasShort(peakBytes: number, cappedPages: number | undefined): boolean {
  if (cappedPages === undefined) return false;
  const cap = cappedPages * kPageBytes;
  return cap - peakBytes < cap / 16;
}

function textOf(bytes: Uint8Array): string | undefined {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return undefined;
  }
}

function start(
  module: WebAssembly.Module,
  stdio: Stdio,
  wasi: WASI,
  seen: Seen,
): Failure | undefined {
  try {
    const imports = Object.assign(Object.create(null), { [kWasi]: stdio.imports(wasi) });
    const instance = new WebAssembly.Instance(module, imports);
    const memory = instance.exports.memory as WebAssembly.Memory;
    seen.memory = memory;
    stdio.memory = memory;
    const exitCode = wasi.start(instance);
    if (exitCode === 0) return undefined;
    return { error_kind: "exit", exit_code: exitCode, error: `exit code ${exitCode}` };
  } catch (error) {
    return error instanceof OutputLimitReached ? undefined : failureOf(error);
  }
}

type Seen = { memory?: WebAssembly.Memory };

/** Never throws: what happens to the skill is the answer. */
export function runModule(module: WebAssembly.Module, run: ModuleRun): AnswerMessage {
  const began = performance.now();
  const invalid = whyNoCommand(module);
  if (invalid !== undefined) return { success: false, error_kind: "invalid", error: invalid };

  const stdio = new Stdio(new TextEncoder().encode(run.input), {
    outputBytes: run.maxOutputBytes,
    stderrBytes: kMaxSkillStderrBytes,
  });
  const wasi = new WASI({ version: "preview1", args: ["skill"], env: {}, returnOnExit: true });
  const seen: Seen = {};
  const failure = start(module, stdio, wasi, seen);

  const peakBytes = seen.memory?.buffer.byteLength;
  const stderr = new TextDecoder().decode(stdio.err.bytes());
  const rest = {
    duration_ms: performance.now() - began,
    ...(peakBytes === undefined ? {} : { memory_peak_bytes: peakBytes }),
    ...(stderr === "" ? {} : { stderr }),
  };
  // First what the skill can't hide by catching our exception.
  if (stdio.out.isFull) {
    const error = `the output is over ${run.maxOutputBytes} bytes`;
    return { success: false, error_kind: "limit", limit: "output", error, ...rest };
  }
  if (failure !== undefined) {
    if (failure.error_kind !== "limit" && wasShort(peakBytes ?? 0, run.cappedPages)) {
      const error = `${failure.error}, with its memory full (${peakBytes} bytes)`;
      return { success: false, error_kind: "limit", limit: "memory", error, ...rest };
    }
    return { success: false, ...failure, ...rest };
  }
  const output = textOf(stdio.out.bytes());
  if (output !== undefined) return { success: true, output, ...rest };
  const error = "the skill wrote bytes that are no UTF-8 text";
  return { success: false, error_kind: "protocol", error, ...rest };
}
