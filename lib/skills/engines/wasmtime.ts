/** Wasmtime 33 or newer (its CLI takes calls of component functions since then). */

import type { SkillAnswer } from "../answer.js";
import { SkillError } from "../skill-error.js";
import type { SkillRequest } from "./engine.js";
import type { ExternalEngine } from "./external.js";
import { readWaveResult, waveString } from "./wave.js";

/** The kernel's MAX_ARG_STRLEN, less what is around the input. */
const kMaxArgumentBytes = 128 * 1024 - 64;

/** How much earlier than our deadline the engine's own is, so that it can say so. */
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
 * @param cacheDir where it keeps compiled code of verified skills, by their content; undefined for
 * nowhere. Never for untrusted ones: what their compiler wrote would be executed outside of the
 * sandbox that it ran in.
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
