/** `native-runner skill run`: makes one call of a WASM skill. */

import { basename, resolve } from "node:path";

import { type Command, Option } from "commander";

import type { RuntimeType } from "../runtime/runtime.js";
import { SkillError, type SkillExecutionResult } from "../skills/answer.js";
import { kEngineNames, type SkillEngineName } from "../skills/engines/choice.js";
import { WasmSkillExecutor } from "../skills/executor.js";
import type { Skill, TrustTier } from "../skills/skill.js";
import { inCliWords } from "./reason.js";
import { CliError, printError, readStdin, watchOutput } from "./terminal.js";
import { formatDuration } from "./values.js";

/** Parsed options as commander passes them. */
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

/** Returns the process's exit code for a skill that returned no output. */
export function skillExitCode({ code, limit }: SkillError): number {
  if (code === "ERR_SKILL_ABORTED") return 130;
  if (code === "ERR_SKILL_ENGINE") return 125;
  return code === "ERR_SKILL_LIMIT" && limit === "time" ? 124 : 1;
}

/** Returns an error as JSON, without undefined fields. */
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
 * Runs a skill, prints its output (or the whole result as JSON) and sets the exit code. The first SIGINT,
 * SIGTERM or SIGHUP ends the skill.
 *
 * @throws (rejects) any error of the executor except a SkillError.
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

/** The grammar of `native-runner skill`. Parsing only. */

/** Parsers of option values; they throw commander's InvalidArgumentError. */
export type ValueParsers = Record<"finiteDuration" | "size" | "count", (text: string) => number>;

/** Adds the command; `action` implements it. */
export function addSkillCommand(
  program: Command,
  parsers: ValueParsers,
  action: (path: string, options: SkillCliOptions) => Promise<void>,
): Command {
  return program
    .command("skill")
    .description("run a WASM skill, an untrusted one behind the OS sandbox as well")
    .command("run")
    .argument("<path>", "the skill: a WASI command or a component, in a directory of its own")
    .usage("[options] PATH")
    .description("call a skill once and print its output")
    .addOption(
      new Option("--tier <tier>", "untrusted: behind the OS sandbox; verified: in the engine only")
        .choices(["untrusted", "verified"])
        .default("untrusted"),
    )
    .option("-i, --input <text>", "what it gets, such as JSON; - is standard input", "")
    .option("--memory <size>", "most memory of the module: 64M (default 128 MiB)", parsers.size)
    .addOption(
      new Option("-t, --timeout <duration>", "end it after this time, its start included")
        .argParser(parsers.finiteDuration)
        .default(30_000, formatDuration(30_000)),
    )
    .option("--fuel <n>", "most fuel; about one for an instruction", parsers.count)
    .option("--max-output <size>", "most bytes of output (default 1 MiB)", parsers.size)
    .addOption(
      new Option("--engine <name>", "what runs it")
        .choices(["auto", ...kEngineNames])
        .default("auto"),
    )
    .addOption(
      new Option("--runtime <name>", "the OS sandbox; default: bubblewrap, else landlock").choices([
        "auto",
        "bubblewrap",
        "landlock",
      ]),
    )
    .option("--strict-limits", "refuse a limit that the engine itself can't keep")
    .option("--json", "print one JSON object instead")
    .addHelpText(
      "after",
      `
Exit codes: 0 it gave an output; 1 it failed or met a limit; 2 misuse; 124 timed out;
125 no engine or no sandbox can run it; 130 interrupted.

Examples:
  $ native-runner skill run skills/echo/echo.wasm --input '{"question": 42}'
  $ native-runner skill run skills/sum/sum.wasm --tier verified --memory 64M --json --input - < in.json`,
    )
    .action(action);
}
