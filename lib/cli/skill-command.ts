/** The grammar of `native-runner skill`. Parsing only. */

import { type Command, Option } from "commander";

import { kEngineNames } from "../skills/engines/choice.js";
import type { SkillCliOptions } from "./skill.js";
import { formatDuration } from "./values/duration.js";

/** Parsers of option values; they throw commander's InvalidArgumentError. */
export type ValueParsers = Record<"finiteDuration" | "size" | "count", (text: string) => number>;

/** Adds the command; `action` is what it does. */
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
