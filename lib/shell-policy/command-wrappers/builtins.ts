/** Builtins that run strings, or change the meaning of later words. */

import type { CommandWrapper, Effect, ShellCall } from "../call.js";
import { optionReader } from "../options.js";
import { hidesSubscript } from "../script/syntax.js";
import { kExpansion, partOf, type ShellWord } from "../script/word.js";
import { assignmentIn, fromInput, inputText, isInput, joined } from "./effects.js";

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

const declaration: CommandWrapper = (call) => [
  ...subscripts(call),
  // A nameref hides which variable is set.
  ...(call.words.some(({ text }) => /^-[a-zA-Z]*n/.test(text)) ? state(call.words[0]) : []),
  ...call.words.slice(1).flatMap((word): Effect[] => {
    const effect = assignmentIn(word);
    if (effect) return [effect];
    return word.text.startsWith(kExpansion) ? state(call.words[0]) : [];
  }),
];

/** Commands that read a value into the variables they name. */
const setters: CommandWrapper = (call) => [
  ...subscripts(call),
  ...call.words.slice(1).flatMap((word): Effect[] => {
    if (word.text === kExpansion) return state(call.words[0]);
    if (!/^[A-Za-z_]\w*$/.test(word.text)) return [];
    return [{ kind: "variable", name: word.text, value: partOf(word, kExpansion) }];
  }),
];

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

const printfTo: CommandWrapper = (call) =>
  /^-v/.test(call.words[1]?.text ?? "") ? setters(call) : [];

/** Commands with options whose value is run on an event. */
function callback(letters: readonly string[]): CommandWrapper {
  const read = optionReader(letters);
  return (call) => [
    ...setters(call),
    ...read(call.words).map((word): Effect => ({ kind: "code", word })),
  ];
}

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

/** Runs earlier commands again, or opens an editor on them. */
const kEditor = optionReader(["e"]);
const again: CommandWrapper = ({ words }) => {
  if (words.some(({ text }) => /^-[a-z]*l/.test(text))) return [];
  const editor = kEditor(words).filter(({ text }) => text !== "-");
  return [...state(words[0]), ...editor.map((word): Effect => ({ kind: "code", word }))];
};

const enable: CommandWrapper = ({ words }) =>
  words.some(({ text }) => /^-[a-z]*[fn]/.test(text)) ? state(words[0]) : [];
const hash: CommandWrapper = ({ words }) =>
  words.some(({ text }) => /^-[a-z]*p/.test(text)) ? state(words[0]) : [];

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
  read: setters,
  getopts: setters,
  printf: printfTo,
  wait: setters,
  mapfile: callback(["C"]),
  readarray: callback(["C"]),
  compgen: wordList,
  complete: wordList,
  bind,
  enable,
  hash,
  shopt: ({ words }) =>
    words.some(({ text }) => text === "expand_aliases") ? state(words[0]) : [],
  fc: again,
};
