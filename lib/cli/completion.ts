/** `native-runner completion`: shell scripts that complete its commands, options and their words. */

import { Argument, type Command, type Option } from "commander";

const kShells = ["bash", "zsh", "fish"] as const;

/** A shell that there is a script for. */
export type Shell = (typeof kShells)[number];

/** Adds the command; its script describes `program` as it is when the action runs. */
export function addCompletionCommand(program: Command, print: (script: string) => void): Command {
  return program
    .command("completion")
    .usage("bash|zsh|fish")
    .addArgument(new Argument("<shell>", "the shell to write the script for").choices(kShells))
    .description("print a script that completes commands and options in a shell")
    .addHelpText(
      "after",
      `
Examples:
  $ eval "$(native-runner completion bash)"                                   # in ~/.bashrc
  $ native-runner completion zsh > "\${fpath[1]}/_native-runner"
  $ native-runner completion fish > ~/.config/fish/completions/native-runner.fish`,
    )
    .action((shell: Shell) => print(completionScript(program, shell)));
}

/** One command: its words after the program's name, its subcommands and its options. */
type Entry = { words: string; commands: readonly Command[]; options: readonly Option[] };

function entriesOf(command: Command, words = ""): Entry[] {
  const options = command.options.filter(({ hidden }) => !hidden);
  const below = command.commands.flatMap((each) =>
    entriesOf(each, words === "" ? each.name() : `${words} ${each.name()}`),
  );
  return [{ words, commands: command.commands, options }, ...below];
}

const flagsOf = ({ short, long }: Option) => [short, long].filter((flag) => flag !== undefined);

/** Returns the words of a command that may follow: its subcommands and flags. */
const wordsOf = ({ commands, options }: Entry) =>
  [...commands.map((each) => each.name()), ...options.flatMap(flagsOf), "--help"].join(" ");

/** Returns the options with a fixed set of values, by flag. */
function choicesOf(entries: readonly Entry[]): Map<string, readonly string[]> {
  const choices = new Map<string, readonly string[]>();
  for (const option of entries.flatMap((entry) => entry.options)) {
    if (option.argChoices) choices.set(option.long ?? "", option.argChoices);
  }
  return choices;
}

/** The cases of a shell's `case` by the command's words, and by the flag before the cursor. */
function cases(entries: readonly Entry[], offer: (words: string) => string) {
  const known = entries.filter(({ words }) => words !== "").map(({ words }) => `"${words}"`);
  const offers = entries.map((entry) => `    "${entry.words}") ${offer(wordsOf(entry))} ;;`);
  const values = [...choicesOf(entries)].map(
    ([flag, words]) => `    ${flag}) ${offer(words.join(" "))}; return ;;`,
  );
  return { known: known.join("|"), offers: offers.join("\n"), values: values.join("\n") };
}

/** Finds the command among the words before the cursor; nothing is completed for a sandboxed command's. */
const walk = (known: string, words: string) => `  local at="" word
  for word in ${words}; do
    [[ $word == -- ]] && return
    case "\${at:+$at }$word" in ${known}) at="\${at:+$at }$word" ;; esac
  done`;

function bash(entries: readonly Entry[]): string {
  const offer = (words: string) => `COMPREPLY=($(compgen -W "${words}" -- "$cur"))`;
  const { known, offers, values } = cases(entries, offer);
  return `# bash completion of native-runner
_native_runner() {
  local cur=\${COMP_WORDS[COMP_CWORD]} prev=\${COMP_WORDS[COMP_CWORD-1]}
  COMPREPLY=()
${walk(known, `"\${COMP_WORDS[@]:1:COMP_CWORD-1}"`)}
  case $prev in
${values}
  esac
  case $at in
${offers}
  esac
}
complete -o default -F _native_runner native-runner
`;
}

function zsh(entries: readonly Entry[]): string {
  const offer = (words: string) => `compadd -- ${words}`;
  const { known, offers, values } = cases(entries, offer);
  return `#compdef native-runner
_native_runner() {
${walk(known, `"\${(@)words[2,CURRENT-1]}"`)}
  case $words[CURRENT-1] in
${values}
  esac
  [[ $PREFIX == -* || $at != run ]] || { _files; return }
  case $at in
${offers}
  esac
  _files
}
if [[ $funcstack[1] == _native_runner ]]; then _native_runner "$@"; else compdef _native_runner native-runner; fi
`;
}

const fishQuote = (text: string) => `'${text.replace(/[\\']/g, "\\$&")}'`;

function fish(entries: readonly Entry[]): string {
  const lines = entries.flatMap(({ words, commands, options }) => {
    const at =
      words === ""
        ? "__fish_use_subcommand"
        : words
            .split(" ")
            .map((word) => `__fish_seen_subcommand_from ${word}`)
            .join("; and ");
    const start = `complete -c native-runner -n ${fishQuote(at)}`;
    return [
      ...commands.map(
        (each) => `${start} -f -a ${each.name()} -d ${fishQuote(each.description())}`,
      ),
      ...options.map((option) => {
        const flags = [
          option.short && `-s ${option.short.slice(1)}`,
          option.long && `-l ${option.long.slice(2)}`,
          option.argChoices && `-x -a ${fishQuote(option.argChoices.join(" "))}`,
          option.required && !option.argChoices && "-r",
        ];
        return `${start} ${flags.filter(Boolean).join(" ")} -d ${fishQuote(option.description)}`;
      }),
    ];
  });
  return `# fish completion of native-runner\n${lines.join("\n")}\n`;
}

/** Returns the script of one shell. Pure. */
export function completionScript(program: Command, shell: Shell): string {
  const entries = entriesOf(program);
  return { bash, zsh, fish }[shell](entries);
}
