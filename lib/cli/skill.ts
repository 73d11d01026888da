/** `native-runner skill run`: one call of a WASM skill. */

import { basename, resolve } from "node:path";

import type { RuntimeType } from "../runtime/names.js";
import type { SkillEngineName } from "../skills/engines/choice.js";
import { WasmSkillExecutor } from "../skills/executor.js";
import type { SkillExecutionResult } from "../skills/result.js";
import type { Skill, TrustTier } from "../skills/skill.js";
import { SkillError } from "../skills/skill-error.js";
import { CliError, printError, readStdin, watchOutput } from "./terminal.js";
import { inCliWords } from "./wording.js";

/** As commander hands them over, parsed. */
export type SkillCliOptions = {
  tier: TrustTier;
  /** "-" is standard input. */
  input: string;
  /** Bytes. */
  memory?: number;
  /** Milliseconds. */
  timeout: number;
  fuel?: number;
  /** Bytes. */
  maxOutput?: number;
  engine: "auto" | SkillEngineName;
  runtime?: Exclude<RuntimeType, "native" | "firejail">;
  strictLimits?: boolean;
  json?: boolean;
};

const kSignals = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

/** The process's exit code for a skill that gave nothing back. */
export function skillExitCode({ code, limit }: SkillError): number {
  if (code === "ERR_SKILL_ABORTED") return 130;
  if (code === "ERR_SKILL_ENGINE") return 125;
  return code === "ERR_SKILL_LIMIT" && limit === "time" ? 124 : 1;
}

/** An error as JSON, without what is undefined. */
export function skillErrorJson(error: SkillError): string {
  const { code, message, limit, exitCode, fix, stderr, memoryPeakBytes } = error;
  const { engine, walls, audits } = error;
  const why = { code, message, limit, exitCode, fix, stderr, memoryPeakBytes };
  return JSON.stringify({ error: why, engine, walls, audits }, null, 2);
}

function skillOf(path: string, options: SkillCliOptions): Skill {
  return {
    manifest: { name: basename(path) },
    wasmPath: resolve(path),
    trustTier: options.tier,
    resourceLimits: {
      maxMemoryBytes: options.memory,
      maxFuel: options.fuel,
      maxDurationMs: options.timeout,
      maxOutputBytes: options.maxOutput,
    },
  };
}

async function inputOf({ input }: SkillCliOptions, signal: AbortSignal): Promise<string> {
  if (input !== "-") return input;
  const bytes = await readStdin(signal);
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    throw new CliError("standard input is no UTF-8 text", 2);
  }
}

function show(result: SkillExecutionResult, isJson: boolean | undefined): void {
  if (isJson) {
    process.stdout.write(`${JSON.stringify(result, null, 2)}\n`);
  } else {
    process.stderr.write(result.stderr);
    process.stdout.write(result.output);
  }
}

function tell(error: SkillError, isJson: boolean | undefined): void {
  if (isJson) process.stdout.write(`${skillErrorJson(error)}\n`);
  else process.stderr.write(error.stderr);
  printError(`${inCliWords(error.message)} (${error.code})`, error.fix && inCliWords(error.fix));
  process.exitCode = skillExitCode(error);
}

/**
 * Runs a skill, prints its output (or all of the result as JSON) and sets the exit code. The first
 * SIGINT, SIGTERM or SIGHUP ends the skill.
 *
 * @throws (rejects) what the executor throws, but for a SkillError.
 */
export async function runSkill(path: string, options: SkillCliOptions): Promise<void> {
  const interrupt = new AbortController();
  const onSignal = () => interrupt.abort();
  watchOutput(onSignal);
  for (const name of kSignals) process.once(name, onSignal);
  const { engine, runtime, strictLimits } = options;
  const executor = new WasmSkillExecutor({ engine, runtime, strictLimits });
  try {
    const { signal } = interrupt;
    const input = await inputOf(options, signal);
    show(await executor.execute(skillOf(path, options), input, { signal }), options.json);
  } catch (error) {
    if (!(error instanceof SkillError)) throw error;
    tell(error, options.json);
  } finally {
    for (const name of kSignals) process.removeListener(name, onSignal);
    await executor.close();
  }
}
