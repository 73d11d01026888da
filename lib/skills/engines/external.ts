/**
 * Engines that are separate programs. The skill's input is their standard input and its output is their
 * standard output: always data, never an answer in our protocol. Success is determined by the exit status
 * alone; the answer is created here, on the host.
 */

import type { SandboxedExecResult } from "../../../types/public.js";
import { type SkillAnswer, SkillError } from "../answer.js";
import type { EngineCommand, EngineEnforcement, SkillEngine, SkillRequest } from "./engine.js";

/** Patterns that classify an engine's messages, in its last lines on standard error. */
type EngineWords = readonly (readonly ["memory" | "time" | "fuel", RegExp])[];

/** Describes how a program runs skills; pure. */
export type ExternalEngine = {
  name: string;
  enforces: EngineEnforcement;
  /** Returns the program's arguments. */
  args(request: SkillRequest): string[];
  /** Returns the program's variables. Default none. */
  env?(request: SkillRequest): Record<string, string>;
  words: EngineWords;
  /** Parses the standard output of a run with exit code 0. Default: all of it is the output. */
  read?(text: string, request: SkillRequest): SkillAnswer;
};

/** Writable memory in bytes that an engine needs besides a skill's: compiler, code, stacks. */
const kOverheadBytes = 256 * 1024 ** 2;

const kMaxWords = 4096;

function limitOf(words: EngineWords, stderr: string): "memory" | "time" | "fuel" | undefined {
  const last = stderr.slice(-kMaxWords);
  return words.find(([, pattern]) => pattern.test(last))?.[0];
}

function textOf(bytes: Uint8Array): string | undefined {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return undefined;
  }
}

/** A program that was found, used as an engine. */
export class ExternalSkillEngine implements SkillEngine {
  readonly name: string;
  readonly enforces: EngineEnforcement;
  readonly #program: string;
  readonly #engine: ExternalEngine;

  /** @param program absolute path. */
  constructor(program: string, engine: ExternalEngine) {
    this.#program = program;
    this.#engine = engine;
    this.name = engine.name;
    this.enforces = engine.enforces;
  }

  command(request: SkillRequest): EngineCommand {
    if (request.isComponent && !this.enforces.components) {
      throw new SkillError(`${this.name} runs no components`, {
        code: "ERR_SKILL_ENGINE",
        fix: "use wasmtime",
      });
    }
    const env = this.#engine.env?.(request);
    return {
      argv: [this.#program, ...this.#engine.args(request)],
      stdin: new TextEncoder().encode(request.isComponent ? "" : request.input),
      ...(env === undefined ? {} : { env }),
      readable: [this.#program],
      overheadBytes: kOverheadBytes,
      maxStdoutBytes: request.limits.maxOutputBytes + (request.isComponent ? 4096 : 1),
    };
  }

  answer(end: SandboxedExecResult, request: SkillRequest): SkillAnswer {
    const stderr = new TextDecoder().decode(end.stderr);
    if (end.exitCode !== 0) {
      const limit = limitOf(this.#engine.words, stderr);
      const error = `${this.name} ended with exit code ${end.exitCode}`;
      if (limit !== undefined) return { success: false, error_kind: "limit", limit, error };
      return { success: false, error_kind: "exit", exit_code: end.exitCode, error };
    }
    if (end.stdoutBytes > request.limits.maxOutputBytes && !request.isComponent) {
      const error = `the output is over ${request.limits.maxOutputBytes} bytes`;
      return { success: false, error_kind: "limit", limit: "output", error };
    }
    const text = textOf(end.stdout);
    if (text === undefined) {
      const error = "the skill wrote bytes that are no UTF-8 text";
      return { success: false, error_kind: "protocol", error };
    }
    return this.#engine.read?.(text, request) ?? { success: true, output: text };
  }
}

/** Wasmtime 33 or newer (its CLI supports calls of component functions since then). */

/** The kernel's MAX_ARG_STRLEN, less the text around the input. */
const kMaxArgumentBytes = 128 * 1024 - 64;

/** Fraction of our deadline that the engine's own deadline is set to, so that the engine can report it. */
const kHeadStart = 0.95;

function invocation(input: string): string {
  const call = `execute(${waveString(input)})`;
  if (Buffer.byteLength(call) <= kMaxArgumentBytes) return call;
  throw new SkillError("wasmtime takes a component's input as an argument, of 128 KiB at most", {
    code: "ERR_SKILL_ENGINE",
    fix: "pass less, or make the skill a WASI command, which reads its input",
  });
}

function readResult(text: string): SkillAnswer {
  const result = readWaveResult(text);
  if (result === undefined) {
    const error = "wasmtime printed no result<string, string>";
    return { success: false, error_kind: "protocol", error };
  }
  if (result.ok) return { success: true, output: result.value };
  return { success: false, error_kind: "exit", error: result.value };
}

/**
 * @param cacheDir directory in which it keeps compiled code of verified skills, by their content; undefined:
 * none. Never used for untrusted skills: their compiler's output would be executed outside the sandbox that
 * it ran in.
 */
export function wasmtime(cacheDir: string | undefined): ExternalEngine {
  const mayCache = ({ trustTier }: SkillRequest) =>
    cacheDir !== undefined && trustTier === "verified";
  return {
    name: "wasmtime",
    enforces: { fuel: true, memory: true, time: true, wasi: true, components: true },
    args: (request) => {
      const { limits, isComponent, input, wasmPath } = request;
      const timeoutMs = Math.max(1, Math.floor(limits.maxDurationMs * kHeadStart));
      return [
        "run",
        "-C",
        `cache=${mayCache(request) ? "y" : "n"}`,
        "-W",
        `max-memory-size=${limits.maxMemoryBytes}`,
        "-W",
        "max-memories=8,max-tables=16,max-table-elements=1000000",
        "-W",
        "trap-on-grow-failure=y",
        "-W",
        `timeout=${timeoutMs}ms`,
        ...(limits.maxFuel === undefined ? [] : ["-W", `fuel=${limits.maxFuel}`]),
        ...(isComponent ? ["--invoke", invocation(input)] : []),
        wasmPath,
      ];
    },
    env: (request) =>
      mayCache(request) && cacheDir !== undefined
        ? { HOME: cacheDir, XDG_CACHE_HOME: cacheDir, XDG_CONFIG_HOME: cacheDir }
        : {},
    words: [
      ["fuel", /all fuel consumed/],
      ["time", /wasm trap: interrupt/],
      ["memory", /growing memory|exceeds? memory limits|memory minimum size/],
    ],
    read: (text, { isComponent }) =>
      isComponent ? readResult(text) : { success: true, output: text },
  };
}

/**
 * The text form of component values in which `wasmtime run --invoke` takes arguments and prints results
 * (WAVE, https://github.com/bytecodealliance/wasm-tools/tree/main/crates/wasm-wave). Supports strings and
 * results of strings. Pure.
 */

const kEscapes: Readonly<Record<string, string>> = {
  "\\": "\\",
  '"': '"',
  "'": "'",
  t: "\t",
  n: "\n",
  r: "\r",
};

/** Returns a string as a WAVE literal. */
export function waveString(text: string): string {
  const quoted = text.replace(/["\\\p{Cc}]/gu, (character) => {
    if (character === '"' || character === "\\") return `\\${character}`;
    return `\\u{${character.charCodeAt(0).toString(16)}}`;
  });
  return `"${quoted}"`;
}

/** Parses a WAVE string literal; returns undefined if it is invalid. */
export function readWaveString(literal: string): string | undefined {
  const [, body] = /^"((?:[^"\\\n]|\\.)*)"$/su.exec(literal) ?? [];
  if (body === undefined) return undefined;
  let isValid = true;
  const text = body.replace(/\\(?:u\{([0-9a-fA-F]{1,6})\}|(.))/gsu, (_, code, character) => {
    if (code !== undefined) {
      const point = Number.parseInt(code, 16);
      if (point <= 0x10ffff && (point < 0xd800 || point > 0xdfff))
        return String.fromCodePoint(point);
    } else if (Object.hasOwn(kEscapes, character)) {
      return kEscapes[character] ?? "";
    }
    isValid = false;
    return "";
  });
  return isValid ? text : undefined;
}

/** Parses a `result<string, string>`, surrounded only by white space; returns undefined if it is invalid. */
export function readWaveResult(text: string): { ok: boolean; value: string } | undefined {
  const [, tag, literal = ""] = /^(ok|err)\((.*)\)$/su.exec(text.trim()) ?? [];
  const value = readWaveString(literal);
  return tag === undefined || value === undefined ? undefined : { ok: tag === "ok", value };
}

/** Engines that enforce fewer limits themselves; the operating system enforces the rest. */

const kNothing = { fuel: false, memory: false, time: false, wasi: true, components: false };

/** Wasmer's command line has no options for limits. */
export const kWasmer: ExternalEngine = {
  name: "wasmer",
  enforces: kNothing,
  args: ({ wasmPath }) => ["run", wasmPath],
  words: [],
};

/** WasmEdge, 0.11 or newer. */
export const kWasmEdge: ExternalEngine = {
  name: "wasmedge",
  enforces: { fuel: true, memory: true, time: true, wasi: true, components: false },
  args: ({ wasmPath, limits }) => [
    "--memory-page-limit",
    String(Math.floor(limits.maxMemoryBytes / 65_536)),
    "--time-limit",
    String(Math.ceil(limits.maxDurationMs)),
    ...(limits.maxFuel === undefined ? [] : ["--gas-limit", String(limits.maxFuel)]),
    "--",
    wasmPath,
  ],
  words: [
    ["fuel", /cost limit exceeded/i],
    ["time", /execution timeout|timeout/i],
    ["memory", /memory (page|size).*exceed|exceed.*memory/i],
  ],
};

/** The interpreter of the WebAssembly Micro Runtime. */
export const kIwasm: ExternalEngine = {
  name: "iwasm",
  enforces: kNothing,
  args: ({ wasmPath }) => [wasmPath],
  words: [],
};
