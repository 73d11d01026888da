/**
 * Engines that are programs of their own. The skill's input is their standard input, what it prints
 * their standard output, and that is its output: data, never an answer in our protocol. Whether it
 * succeeded is told by the exit status alone, which the answer is made of here, on the host.
 */

import type { SandboxedExecResult } from "../../../types/public.js";
import type { SkillAnswer } from "../answer.js";
import { SkillError } from "../skill-error.js";
import type { EngineCommand, EngineEnforcement, SkillEngine, SkillRequest } from "./engine.js";

/** What an engine's own words mean, in its last lines on standard error. */
export type EngineWords = readonly (readonly ["memory" | "time" | "fuel", RegExp])[];

/** How a program runs skills; pure. */
export type ExternalEngine = {
  name: string;
  enforces: EngineEnforcement;
  /** Its arguments. */
  args(request: SkillRequest): string[];
  /** Variables for it. Default none. */
  env?(request: SkillRequest): Record<string, string>;
  words: EngineWords;
  /** What the standard output of a run with exit code 0 says. Default: all of it is the output. */
  read?(text: string, request: SkillRequest): SkillAnswer;
};

/** Writable memory that an engine needs besides a skill's: compiler, code, stacks. */
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

/** A program that was found, as an engine. */
export class ExternalSkillEngine implements SkillEngine {
  readonly name: string;
  readonly enforces: EngineEnforcement;
  readonly #program: string;
  readonly #engine: ExternalEngine;

  /** @param program its absolute path. */
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
