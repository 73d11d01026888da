/** Starts Node processes that run a script of guest/. */

import { dirname } from "node:path";
import { fileURLToPath } from "node:url";

import type { SandboxedExecResult } from "../../types/public.js";
import { builtFile } from "../package-root.js";
import { parseAnswer, type SkillAnswer } from "./answer.js";
import type { EngineCommand, SkillRequest } from "./engines/engine.js";
import type { RequestMessage } from "./guest/answer.mjs";

const kMiB = 1024 ** 2;

/**
 * Memory that V8 maps as writable for code, used or not, which RLIMIT_DATA counts. Since version 13: the
 * range of JavaScript code, 512 MiB, and that of each module (the component toolchain's two take as much
 * again).
 */
const codeRangeBytes = (v8: number): number => (v8 < 13 ? 0 : 1024 * kMiB);

/** Writable memory that Node itself needs: V8's heap and code, its threads' stacks. */
const kOverheadBytes = 256 * kMiB + codeRangeBytes(Number.parseInt(process.versions.v8, 10));

/** A character of an output may take six bytes of JSON; the rest of an answer is small. */
const kJsonBytes = 6;
const kAnswerBytes = 1024 ** 2;

/** Returns the maximum size in bytes of an answer with an output of `maxOutputBytes`. */
export function maxAnswerBytes(maxOutputBytes: number): number {
  return maxOutputBytes * kJsonBytes + kAnswerBytes;
}

/** Builds the request for all scripts that run a skill. */
export function requestMessage({
  wasmPath,
  input,
  trustTier,
  limits,
}: SkillRequest): RequestMessage {
  return {
    wasm_path: wasmPath,
    input,
    trust_tier: trustTier,
    resource_limits: {
      max_memory_bytes: limits.maxMemoryBytes,
      max_duration_ms: limits.maxDurationMs,
      ...(limits.maxFuel === undefined ? {} : { max_fuel: limits.maxFuel }),
      max_output_bytes: limits.maxOutputBytes,
    },
  };
}

/** @param flags options of Node and V8. */
export function guestProcess(
  script: string,
  flags: readonly string[],
  message: unknown,
  maxStdoutBytes: number,
): EngineCommand {
  const path = fileURLToPath(guestScript(script));
  return {
    argv: [process.execPath, "--no-warnings", ...flags, path],
    stdin: new TextEncoder().encode(JSON.stringify(message)),
    env: { OPENSSL_CONF: "/dev/null" }, // the host's is unreadable inside, which would be an error
    readable: [process.execPath, dirname(path)],
    overheadBytes: kOverheadBytes,
    maxStdoutBytes,
  };
}

/** Locates the scripts of guest/, and parses the answer of one that ran as a process. */

/** Returns the location of a script. */
export function guestScript(name: string): URL {
  return builtFile(`skills/guest/${name}`);
}

/** Returns the answer on its standard output, or the reason if it ended without one. */
export function answerOfGuest({ stdout, stderr, exitCode }: SandboxedExecResult): SkillAnswer {
  if (stdout.length > 0 || exitCode === 0) return parseAnswer(stdout);
  const said = new TextDecoder().decode(stderr).trim();
  const error = `the engine ended with exit code ${exitCode} and no answer: ${said.slice(0, 500)}`;
  return { success: false, error_kind: "protocol", error };
}
