/**
 * One entry of the table of command wrappers: how a program's options, operands, other words and input carry
 * commands. Entries follow the program's manual; `programWrapper` evaluates them.
 */

import type { CommandWrapper, Effect, ShellCall } from "../call.js";
import {
  type OptionGrammar,
  type OptionReader,
  optionReader,
  readAllOptions,
  readOptions,
} from "../options.js";
import { partOf, type ShellWord } from "../script/word.js";
import {
  assignmentIn,
  finding,
  inlineCode,
  inputText,
  isInput,
  joined,
  unknownOption,
} from "./effects.js";

export type Program = OptionGrammar & {
  /**
   * Kind of the operands. `command`: one command, after options that the grammar lists completely; `code`:
   * joined and read by a shell; `lines`: each is read by a shell; `somewhere`: one of them may begin a
   * command, since the options before it are too many to list; `wrapped`: one of them does begin a command.
   */
  readonly runs?: "command" | "code" | "lines" | "somewhere" | "wrapped";
  /** An optional first operand of the program's own. */
  readonly first?: RegExp;
  /** Number of the program's own operands before the command. */
  readonly operands?: number;
  /** The program runs none of its operands, and options may also follow them. */
  readonly permuted?: boolean;
  /** `NAME=value` operands may precede the command. */
  readonly assignments?: boolean;
  /**
   * Options whose value is read by a shell or names a program. Written as one letter, as a long name without
   * dashes, or, for a long name with a single dash, with that dash (`-wrapper`).
   */
  readonly code?: readonly string[];
  /** Options that load code, or contain code in the program's own language. */
  readonly inline?: readonly string[];
  /** Options that name a file of the program's own commands. */
  readonly scripts?: readonly string[];
  /** Options that name such a file, if it is the input. */
  readonly inputs?: readonly string[];
  /** Letters that take a value if the first word is a bundle of options without a dash. */
  readonly bundle?: string;
  /** Options with which it runs nothing. */
  readonly idle?: readonly string[];
  /** Options with which it starts a shell if no command is given. */
  readonly shell?: readonly string[];
  /** Other words that make it load or run code. */
  readonly refused?: RegExp;
  /** Words whose first group is read by a shell. */
  readonly assigns?: RegExp;
  /** Input text that makes it run a command, if the input is part of the command line. */
  readonly input?: RegExp;
  /** Input through a pipe may make it run anything. */
  readonly pipe?: boolean;
  /** Entries by the first operand. */
  readonly subcommands?: Readonly<Record<string, Program>>;
};

export type ProgramTable = Readonly<Record<string, Program>>;

/** Reads a call by its program's entry in the table of command wrappers. */

/** Returns the index of the command among the words, after assignments and the program's own operands. */
function commandIndex(
  words: readonly ShellWord[],
  end: number,
  program: Program,
  effects: Effect[],
): number {
  let index = end;
  if (program.assignments) {
    if (words[index]?.text === "-") index++;
    for (let word = words[index]; word; word = words[++index]) {
      const effect = assignmentIn(word);
      if (effect === undefined) break;
      effects.push(effect);
    }
  }
  index += program.operands ?? 0;
  return words[index]?.text === "--" ? index + 1 : index;
}

/** Returns the effects of a program that runs the command in its operands. */
function commandEffects(words: readonly ShellWord[], from: number, program: Program): Effect[] {
  const start = program.first?.test(words[from]?.text ?? "") ? from + 1 : from;
  const read = program.permuted
    ? readAllOptions(words, start, program)
    : readOptions(words, start, program);
  const { options, end, unknown } = read;
  const has = (names: readonly string[] = []) => options.some(({ name }) => names.includes(name));
  const effects: Effect[] = [];
  if (unknown) effects.push(unknownOption(unknown));
  const codes = options.flatMap(({ name, value }) =>
    value && program.code?.includes(name) ? [value] : [],
  );
  effects.push(...codes.map((word): Effect => ({ kind: "code", word })));
  if (has(program.idle)) return effects;
  const index = commandIndex(words, end, program, effects);
  // After its own operand it may take code: flock FILE -c CODE.
  const [command] = words;
  const code = words[index + 1];
  if (program.operands && program.code && /^-c$|^--com/.test(words[index]?.text ?? "")) {
    if (code) effects.push({ kind: "code", word: code });
  } else if (index < words.length) {
    effects.push({ kind: "call", words: words.slice(index) });
  } else if (command && codes.length === 0 && (has(program.shell) || program.shell?.includes(""))) {
    const reason = "This starts a shell that takes its commands from its input.";
    effects.push(finding("pipe-to-shell", reason, command));
  }
  return effects;
}

/** Returns the words with a leading bundle (`tar xIf`) split into separate options. */
function unbundled(words: readonly ShellWord[], letters: string | undefined): readonly ShellWord[] {
  const [command, bundle, ...rest] = words;
  if (!letters || !command || !bundle || !/^[A-Za-z]+$/.test(bundle.text)) return words;
  const options = [...bundle.text].flatMap((letter) => {
    const option = partOf(bundle, `-${letter}`);
    const value = letters.includes(letter) ? rest.shift() : undefined;
    return value ? [option, value] : [option];
  });
  return [command, ...options, ...rest];
}

function wordEffects(call: ShellCall, program: Program): Effect[] {
  const { refused, assigns, input } = program;
  if (!refused && !assigns && !input) return [];
  const effects: Effect[] = [];
  for (const word of refused || assigns ? call.words.slice(1) : []) {
    if (refused?.test(word.text)) effects.push(inlineCode(word));
    const [found, code] = assigns?.exec(word.text) ?? [];
    if (found !== undefined) effects.push({ kind: "code", word: partOf(word, code ?? "") });
  }
  if (input === undefined) return effects;
  const read = inputText(call);
  const texts = [...(typeof read === "object" ? [read] : []), ...call.piped()];
  const bad = texts.find(({ text, literal }) => !literal || input.test(text));
  const piped = program.pipe && texts.length === 0 && call.upstream().length > 0;
  const blamed = bad ?? (piped ? call.words[0] : undefined);
  return blamed ? [...effects, inlineCode(blamed)] : effects;
}

/** An entry of the table, prepared for reading calls. */
class ProgramReader {
  readonly #program: Program;
  readonly #code: OptionReader;
  readonly #inline: OptionReader;
  readonly #inputs: OptionReader;
  readonly #scripts: OptionReader;
  readonly #subcommands: ReadonlyMap<string, ProgramReader>;

  constructor(program: Program) {
    this.#program = program;
    this.#code = optionReader(program.code ?? []);
    this.#inline = optionReader(program.inline ?? []);
    this.#inputs = optionReader(program.inputs ?? []);
    this.#scripts = optionReader(program.scripts ?? []);
    const subcommands = Object.entries(program.subcommands ?? {});
    this.#subcommands = new Map(subcommands.map(([name, each]) => [name, new ProgramReader(each)]));
  }

  /** Returns the program's effects for the words from `start` on. */
  effects(call: ShellCall, start: number): Effect[] {
    const { words } = call;
    const effects = [...wordEffects(call, this.#program), ...this.#operands(words, start)];
    if (this.#subcommands.size === 0) return effects;
    const { end } = readOptions(words, start, this.#program);
    const subcommand = this.#subcommands.get(words[end]?.text ?? "");
    return subcommand ? [...effects, ...subcommand.effects(call, end + 1)] : effects;
  }

  /** Reads options that may be anywhere, and of which only those that carry commands are listed. */
  #options(all: readonly ShellWord[]): Effect[] {
    const { code, inline, inputs, scripts, bundle } = this.#program;
    if (!code && !inline && !inputs && !scripts) return [];
    const words = unbundled(all, bundle);
    const effects = this.#code(words).map((word): Effect => ({ kind: "code", word }));
    const loaded = this.#inline(words)[0] ?? this.#inputs(words).find(isInput);
    if (loaded) effects.push(inlineCode(loaded));
    const unread = this.#scripts(words).find(
      ({ text }) => !/^(?:NONE|NORC|DEFAULTS|\/dev\/null)$/.test(text),
    );
    if (unread) {
      const reason = "This names a file of commands that this check does not read.";
      effects.push(finding("unread-script", reason, unread));
    }
    return effects;
  }

  #operands(words: readonly ShellWord[], start: number): Effect[] {
    const program = this.#program;
    if (program.runs === "command") return commandEffects(words, start, program);
    const effects = this.#options(words);
    if (program.runs === "somewhere" || program.runs === "wrapped") {
      const certain = program.runs === "wrapped";
      effects.push({ kind: "perhaps", words: words.slice(start), certain });
    } else if (program.runs !== undefined) {
      const { options, end } = readOptions(words, start, program);
      if (options.some(({ name }) => program.idle?.includes(name))) return effects;
      const rest = words.slice(end + (program.operands ?? 0));
      const code = program.runs === "lines" ? rest : [joined(rest)];
      for (const word of code) if (word) effects.push({ kind: "code", word });
    }
    return effects;
  }
}

export function programWrapper(program: Program): CommandWrapper {
  const reader = new ProgramReader(program);
  return (call) => reader.effects(call, 1);
}
