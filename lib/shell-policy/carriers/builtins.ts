/** Builtins that run strings, or change what later words mean. */

import type { Carrier, Effect, ShellCall } from "../call.js";
import { hidesSubscript } from "../syntax.js";
import { kExpansion, partOf, type ShellWord } from "../word.js";
import { fromInput, inputText, isInput } from "./shells.js";
import { assignmentIn } from "./wrappers.js";

function state(word: ShellWord | undefined): Effect[] {
  if (word === undefined) return [];
  const reason = "This changes what the shell runs, so later words can't be judged.";
  return [{ kind: "finding", rule: "shell-state", reason, word }];
}

/** The words as one string, as `eval` and others join them. */
export function joined(words: readonly ShellWord[]): ShellWord | undefined {
  const [first] = words;
  if (first === undefined) return undefined;
  const text = words.map((word) => word.text).join(" ");
  // Words of one brace expansion all have the raw text of the whole.
  const raws = words.filter((word, index) => word.raw !== words[index - 1]?.raw);
  const raw = raws.map((word) => word.raw).join(" ");
  return { ...first, text, raw, literal: words.every((word) => word.literal) };
}

function afterDashes(words: readonly ShellWord[]): readonly ShellWord[] {
  return words[1]?.text === "--" ? words.slice(2) : words.slice(1);
}

const evaluate: Carrier = ({ words }) => {
  const code = joined(afterDashes(words));
  return code ? [{ kind: "code", word: code }, ...state(words[0])] : [];
};

const source: Carrier = (call) => {
  const { words } = call;
  const [file] = afterDashes(words);
  if (file === undefined) return [];
  if (!isInput(file)) return state(words[0]);
  const text = inputText(call);
  if (typeof text === "object") return [{ kind: "code", word: text }, ...state(words[0])];
  return [fromInput(call, file), ...state(words[0])];
};

const trap: Carrier = ({ words }) => {
  const [action, ...signals] = afterDashes(words);
  if (action === undefined || /^-[lp]/.test(action.text)) return [];
  if (signals.length === 0 || action.text === "-" || action.text === "") return state(words[0]);
  return [{ kind: "code", word: action }, ...state(words[0])];
};

const alias: Carrier = ({ words }) =>
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

const declaration: Carrier = (call) => [
  ...subscripts(call),
  // A name that stands for another hides which one is set.
  ...(call.words.some(({ text }) => /^-[a-zA-Z]*n/.test(text)) ? state(call.words[0]) : []),
  ...call.words.slice(1).flatMap((word): Effect[] => {
    const effect = assignmentIn(word);
    if (effect) return [effect];
    return word.text.startsWith(kExpansion) ? state(call.words[0]) : [];
  }),
];

/** Commands that set the variables they name to what they read. */
const setters: Carrier = (call) => [
  ...subscripts(call),
  ...call.words.slice(1).flatMap((word): Effect[] => {
    if (word.text === kExpansion) return state(call.words[0]);
    if (!/^[A-Za-z_]\w*$/.test(word.text)) return [];
    return [{ kind: "variable", name: word.text, value: partOf(word, kExpansion) }];
  }),
];

/** A name or a subscript's end, as the operator after it assigns. */
const kAssigns = /(?<!\w)([A-Za-z_]\w*)\s*(?:(?:[-+*/%&^|]|<<|>>)?=(?!=)|\[|\+\+|--)/g;

/** What arithmetic sets, or may set where there is a subscript. */
const arithmetic: Carrier = (call) => [
  ...subscripts(call),
  ...call.words.slice(1).flatMap((word): Effect[] =>
    [...word.text.matchAll(kAssigns)].map(([, name = ""]) => ({
      kind: "variable",
      name,
      value: partOf(word, kExpansion),
    })),
  ),
];

const printfTo: Carrier = (call) => (/^-v/.test(call.words[1]?.text ?? "") ? setters(call) : []);

/** Commands of which one option's value is run when something happens. */
function callback(letter: RegExp): Carrier {
  return (call) => {
    const index = call.words.findIndex(({ text }) => letter.test(text));
    const code = call.words[index + 1];
    const effects = setters(call);
    return index > 0 && code ? [...effects, { kind: "code", word: code }] : effects;
  };
}

const enable: Carrier = ({ words }) =>
  words.some(({ text }) => /^-[a-z]*[fn]/.test(text)) ? state(words[0]) : [];
const hash: Carrier = ({ words }) =>
  words.some(({ text }) => /^-[a-z]*p/.test(text)) ? state(words[0]) : [];
const always: Carrier = ({ words }) => state(words[0]);

export const kBuiltins: Readonly<Record<string, Carrier>> = {
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
  mapfile: callback(/^-[a-zA-Z]*C$/),
  readarray: callback(/^-[a-zA-Z]*C$/),
  compgen: callback(/^-[a-zA-Z]*[CW]$/),
  complete: callback(/^-[a-zA-Z]*[CW]$/),
  bind: callback(/^-x$/),
  enable,
  hash,
  shopt: ({ words }) =>
    words.some(({ text }) => text === "expand_aliases") ? state(words[0]) : [],
  // What a program in the language of another shell would do is not read.
  fc: always,
};
