/** Builtins that run strings, or change the meaning of later words. */

import type { CommandWrapper, Effect, ShellCall } from "../call.js";
import { type OptionGrammar, optionReader, readOptions } from "../options.js";
import { kElement } from "../script/expansion.js";
import { formatted } from "../script/printed.js";
import { hidesSubscript } from "../script/syntax.js";
import { kExpansion, partOf, type ShellWord } from "../script/word.js";
import {
  assignmentIn,
  fromInput,
  historyExpansion,
  inputText,
  isInput,
  joined,
  positional,
} from "./effects.js";

function state(word: ShellWord | undefined): Effect[] {
  if (word === undefined) return [];
  const reason = "This changes what the shell runs, so later words can't be judged.";
  return [{ kind: "finding", rule: "shell-state", reason, word }];
}

function afterDashes(words: readonly ShellWord[]): readonly ShellWord[] {
  return words[1]?.text === "--" ? words.slice(2) : words.slice(1);
}

const evaluate: CommandWrapper = ({ words }) => {
  const code = joined(afterDashes(words));
  return code ? [{ kind: "code", word: code }, ...state(words[0])] : [];
};

const source: CommandWrapper = (call) => {
  const { words } = call;
  const [file] = afterDashes(words);
  if (file === undefined) return [];
  if (!isInput(file)) return state(words[0]);
  const text = inputText(call);
  if (typeof text === "object") return [{ kind: "code", word: text }, ...state(words[0])];
  return [fromInput(call, file), ...state(words[0])];
};

const trap: CommandWrapper = ({ words }) => {
  const [action, ...signals] = afterDashes(words);
  if (action === undefined || /^-[lp]/.test(action.text)) return [];
  if (signals.length === 0 || action.text === "-" || action.text === "") return state(words[0]);
  return [{ kind: "code", word: action }, ...state(words[0])];
};

const alias: CommandWrapper = ({ words }) =>
  words.slice(1).flatMap((word): Effect[] => {
    const equals = word.text.indexOf("=");
    if (equals < 0) return [];
    return [{ kind: "code", word: partOf(word, word.text.slice(equals + 1)) }, ...state(words[0])];
  });

/** Builtins that take a variable's name evaluate its subscript, whatever its quotes. */
function subscripts({ words }: ShellCall): Effect[] {
  const word = words.find(({ text, literal }) => literal && hidesSubscript(text));
  if (word === undefined) return [];
  const reason = "The shell runs the substitution in this subscript.";
  return [{ kind: "finding", rule: "dynamic-code", reason, word }];
}

/** A name that stands for another variable: `declare -n r=PATH`. */
function references({ words }: ShellCall): Effect[] {
  if (!words.some(({ text }) => /^-[a-zA-Z]*n/.test(text))) return [];
  return words.flatMap(({ text, literal }): Effect[] => {
    const [, name, target] = /^([A-Za-z_]\w*)=(.+)$/s.exec(text) ?? [];
    if (!literal || name === undefined || target === undefined) return [];
    return [{ kind: "reference", name, target }];
  });
}

const declaration: CommandWrapper = (call) => [
  ...subscripts(call),
  // A nameref hides which variable is set.
  ...(call.words.some(({ text }) => /^-[a-zA-Z]*n/.test(text)) ? state(call.words[0]) : []),
  ...call.words.slice(1).flatMap((word): Effect[] => {
    const effect = assignmentIn(word);
    if (effect) return [effect];
    return word.text.startsWith(kExpansion) ? state(call.words[0]) : [];
  }),
  ...references(call),
];

/** The name of a variable, or of an element of one. */
const kName = /^([A-Za-z_]\w*)(?:\[.*\])?$/s;

/** Commands that read a value into the variables they name. */
const setters: CommandWrapper = (call) => [
  ...subscripts(call),
  ...call.words.slice(1).flatMap((word): Effect[] => {
    if (word.text === kExpansion) return state(call.words[0]);
    const [, name] = kName.exec(word.text) ?? [];
    if (name === undefined) return [];
    const value = { ...word, text: kExpansion, literal: false };
    return [{ kind: "variable", name, value }];
  }),
];

const kRead: OptionGrammar = { values: "adinNptuO", flags: "ersc" };
/** Lines of its input that one `read` may be at. */
const kMostLines = 16;

/** `mapfile` of text that is on the command line: each line is an element. */
const lines: CommandWrapper = (call) => {
  const own = inputText(call);
  const texts = typeof own === "object" ? [own] : own === undefined ? call.piped() : [];
  const last = call.words.at(-1);
  const [, name = "MAPFILE"] = kName.exec(call.words.length > 1 ? (last?.text ?? "") : "") ?? [];
  return texts.flatMap((word) => {
    const elements = word.text.replace(/\n$/, "").split("\n", kMostLines);
    const each = elements.map((text, index): Effect => {
      return { kind: "variable", name: `${name}[${index}]`, value: partOf(word, text) };
    });
    const all = partOf(word, elements.join(kElement));
    return [...each, { kind: "variable", name: `${name}[@]`, value: all }];
  });
};

/** `read` of text that is on the command line: each line may be the one that is read. */
const read: CommandWrapper = (call) => {
  const { options, end } = readOptions(call.words, 1, kRead);
  const array = options.find(({ name }) => name === "a")?.value;
  const names = array ? [array] : call.words.slice(end);
  const own = inputText(call);
  const texts = typeof own === "object" ? [own] : own === undefined ? call.piped() : [];
  const lines = texts.flatMap((word) =>
    [word.text, ...word.text.split("\n", kMostLines)].map((text) => partOf(word, text.trim())),
  );
  const set = (variable: ShellWord | undefined, value: ShellWord): Effect[] => {
    const [, name] = kName.exec(variable?.text ?? "REPLY") ?? [];
    return name === undefined ? [] : [{ kind: "variable", name, value }];
  };
  return [
    ...setters(call),
    ...lines.flatMap((line) => {
      const fields = line.text.split(/\s+/);
      if (names.length === 0) return set(undefined, line);
      return names.flatMap((name, index) => {
        const last = index === names.length - 1;
        return set(
          name,
          last ? partOf(line, fields.slice(index).join(" ")) : partOf(line, fields[index] ?? ""),
        );
      });
    }),
  ];
};

/** A name or a subscript's end, before an assignment operator. */
const kAssigns = /(?<!\w)([A-Za-z_]\w*)\s*(?:(?:[-+*/%&^|]|<<|>>)?=(?!=)|\[|\+\+|--)/g;

/** Finds variables that arithmetic sets, or may set through a subscript. */
const arithmetic: CommandWrapper = (call) => [
  ...subscripts(call),
  ...call.words.slice(1).flatMap((word): Effect[] =>
    [...word.text.matchAll(kAssigns)].map(([, name = ""]) => ({
      kind: "variable",
      name,
      value: partOf(word, kExpansion),
    })),
  ),
];

const printfTo: CommandWrapper = (call) => {
  const [, option, next] = call.words;
  if (option === undefined || !option.text.startsWith("-v")) return [];
  const attached = option.text !== "-v";
  const [, name] = kName.exec(attached ? option.text.slice(2) : (next?.text ?? "")) ?? [];
  const rest = call.words.slice(attached ? 2 : 3);
  const [format, ...values] = rest[0]?.text === "--" ? rest.slice(1) : rest;
  const text = format && formatted(format, values);
  if (!text || name === undefined) return setters(call);
  return [...setters(call), { kind: "variable", name, value: { ...format, ...text } }];
};

/** Commands with options whose value is run on an event. */
function callback(letters: readonly string[]): CommandWrapper {
  const read = optionReader(letters);
  return (call) => [
    ...setters(call),
    ...read(call.words).map((word): Effect => ({ kind: "code", word })),
  ];
}

const kCallback = callback(["C"]);
const mapfile: CommandWrapper = (call) => [...kCallback(call), ...lines(call)];

/** A list of words in which the shell runs substitutions, whatever their quotes. */
const kWords = optionReader(["W"]);
const kAction = callback(["C", "F"]);
const wordList: CommandWrapper = (call) => [
  ...kAction(call),
  ...kWords(call.words)
    .filter(({ text, literal }) => !literal || /\$[({]|`/.test(text))
    .map((word): Effect => {
      const reason = "The shell runs the substitutions in these words.";
      return { kind: "finding", rule: "dynamic-code", reason, word };
    }),
];

/** `-x` binds a key to a command. */
const kKey = optionReader(["x"]);
const bind: CommandWrapper = ({ words }) =>
  kKey(words).map(
    (word): Effect => ({
      kind: "code",
      word: partOf(word, word.text.replace(/^\s*"[^"]*"\s*:?/, "")),
    }),
  );

/** Runs earlier lines again, changed or not, or opens an editor on them; `-l` alone lists them. */
const again: CommandWrapper = ({ words }) => {
  const options = words.slice(1).filter(({ text }) => /^-[a-z]/.test(text));
  const lists = options.some(({ text }) => text.includes("l"));
  const [word] = words;
  if (word === undefined || (lists && !options.some(({ text }) => /[es]/.test(text)))) return [];
  const reason = "This runs an earlier line again, which may be changed.";
  return [...state(word), { kind: "finding", rule: "dynamic-code", reason, word }];
};

/** `-s` adds a line to those that can be run again, `-r` and `-n` those of a file. */
const history: CommandWrapper = ({ words }) => {
  const at = words.findIndex(({ text }) => /^-[a-z]*s/.test(text));
  if (at > 0) {
    const line = joined(words.slice(words[at + 1]?.text === "--" ? at + 2 : at + 1));
    return line?.literal ? [{ kind: "code", word: line }] : [];
  }
  return words.some(({ text }) => /^-[a-z]*[rn]/.test(text)) ? state(words[0]) : [];
};

/** Sets the arguments of the script, and options of the shell. */
const set: CommandWrapper = ({ words }) => {
  const effects: Effect[] = [];
  let index = 1;
  for (; index < words.length; index++) {
    const word = words[index];
    if (word === undefined || !/^[-+]./.test(word.text) || word.text === "--") break;
    const option = word.text.endsWith("o") ? words[++index]?.text : undefined;
    if (word.text.startsWith("-") && (option === "histexpand" || word.text.includes("H")))
      effects.push(historyExpansion(word));
  }
  const start = /^--?$/.test(words[index]?.text ?? "") ? index + 1 : index;
  return [...effects, ...positional(words.slice(start))];
};

const enable: CommandWrapper = ({ words }) =>
  words.some(({ text }) => /^-[a-z]*[fn]/.test(text)) ? state(words[0]) : [];

/** `-p` makes a name run another program. */
const kProgram = optionReader(["p"]);
const hash: CommandWrapper = ({ words }) =>
  kProgram(words).flatMap((word): Effect[] => [
    ...state(words[0]),
    ...(word.literal ? [{ kind: "call", words: [word] } as const] : []),
  ]);

const shopt: CommandWrapper = ({ words }) => {
  const expands = words.find(({ text }) => text === "histexpand");
  if (expands && words.some(({ text }) => /^-[a-z]*s/.test(text)))
    return [historyExpansion(expands)];
  return words.some(({ text }) => text === "expand_aliases") ? state(words[0]) : [];
};

export const kBuiltins: Readonly<Record<string, CommandWrapper>> = {
  eval: evaluate,
  source,
  ".": source,
  trap,
  alias,
  declare: declaration,
  typeset: declaration,
  export: declaration,
  local: declaration,
  readonly: declaration,
  let: arithmetic,
  test: subscripts,
  "[": subscripts,
  unset: setters,
  read,
  getopts: setters,
  printf: printfTo,
  wait: setters,
  mapfile,
  readarray: mapfile,
  compgen: wordList,
  complete: wordList,
  bind,
  enable,
  hash,
  shopt,
  set,
  history,
  fc: again,
  hist: again,
};
