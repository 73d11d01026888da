/** The man page, made of what `--help` says. Pure. */

import type { Command } from "commander";

/** Escapes a text for roff(7): backslashes, hyphens that are to stay hyphens, and leading control characters. */
const roff = (text: string) =>
  text
    .replaceAll("\\", "\\e")
    .replaceAll("-", "\\-")
    .replace(/^([.'])/gm, "\\&$1");

function optionLines(command: Command): string[] {
  return command.options
    .filter(({ hidden }) => !hidden)
    .flatMap((option) => {
      const { flags, description, defaultValueDescription } = option;
      const standard = defaultValueDescription && ` (default: ${defaultValueDescription})`;
      return [".TP", `.B ${roff(flags)}`, roff(`${description}${standard ?? ""}`)];
    });
}

function commandLines(command: Command, parents: string): string[] {
  const name = `${parents} ${command.name()}`;
  return [
    `.SS "${roff(name)} ${roff(command.usage())}"`,
    roff(`${command.description()}.`),
    ...optionLines(command),
    ...command.commands.flatMap((each) => commandLines(each, name)),
  ];
}

/** Returns the text after the options in a command's `--help`, line by line as it stands. */
function verbatim(text: string): string[] {
  return [".nf", roff(text.trim()), ".fi"];
}

/** Returns native-runner(1). @param notes the text that follows the options of the program's help. */
export function manPage(program: Command, version: string, notes: string): string {
  const lines = [
    `.TH NATIVE\\-RUNNER 1 "" "native\\-runner ${roff(version)}" "User Commands"`,
    ".SH NAME",
    "native\\-runner \\- run a command in a sandbox: isolated, bounded, recorded",
    ".SH SYNOPSIS",
    ".B native\\-runner",
    roff("run [options] -- COMMAND..."),
    ".br",
    ".B native\\-runner",
    roff("COMMAND [options]"),
    ".SH DESCRIPTION",
    roff(`${program.description()} The pages in the package's docs directory say more.`),
    ".SH COMMANDS",
    ...program.commands.flatMap((each) => commandLines(each, "native-runner")),
    ".SH NOTES",
    ...verbatim(notes),
    ".SH SEE ALSO",
    ".BR bwrap (1),",
    ".BR firejail (1)",
  ];
  return `${lines.filter((line) => line !== "").join("\n")}\n`;
}
