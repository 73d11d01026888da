/**
 * Reads the options before a command's operands like getopt_long: bundles, attached values, `--name=value`,
 * abbreviated long names, `--`.
 */

import { kExpansion, partOf, type ShellWord } from "./script/word.js";

export type OptionGrammar = {
  /** Letters that take a value. */
  readonly values?: string;
  /** Letters that take no value. */
  readonly flags?: string;
  /** Letters that take a value only if it is attached. */
  readonly attached?: string;
  /** Long names that take a value, without dashes. */
  readonly longValues?: readonly string[];
  readonly longFlags?: readonly string[];
  /** `-10` is an option (nice). */
  readonly numbers?: boolean;
};

type Option = {
  readonly name: string;
  readonly word: ShellWord;
  readonly value?: ShellWord;
};

type OptionsRead = {
  readonly options: readonly Option[];
  /** Index of the first operand. */
  readonly end: number;
  /** The first option that the grammar lacks; treated as an option without a value. */
  readonly unknown: ShellWord | undefined;
};

/** True if `text` is this long option, in full or abbreviated, with or without `=value`. */
export function isLong(text: string, name: string, least = 1): boolean {
  if (!text.startsWith("--")) return false;
  const end = text.indexOf("=");
  const given = end < 0 ? text.slice(2) : text.slice(2, end);
  return given.length >= Math.min(least, name.length) && name.startsWith(given);
}

/** Returns the letters of a bundle such as `-rf`; otherwise "". */
export function shortLetters(text: string): string {
  return /^-[A-Za-z0-9]/.test(text) ? text.slice(1) : "";
}

/** True if one of the words before `--` has the short or the long option. */
export function hasOption(words: readonly ShellWord[], letter: string, long?: string): boolean {
  for (const { text } of words.slice(1)) {
    if (text === "--") return false;
    if (letter !== "" && shortLetters(text).includes(letter)) return true;
    if (long !== undefined && isLong(text, long)) return true;
  }
  return false;
}

function attached(word: ShellWord, text: string, next: ShellWord | undefined) {
  if (text !== "") return { value: partOf(word, text), took: 1 };
  return next === undefined ? { took: 1 } : { value: next, took: 2 };
}

export function readOptions(
  words: readonly ShellWord[],
  start: number,
  grammar: OptionGrammar,
): OptionsRead {
  const {
    values = "",
    flags = "",
    attached: optional = "",
    longValues = [],
    longFlags = [],
    numbers = false,
  } = grammar;
  const options: Option[] = [];
  let unknown: ShellWord | undefined;
  let index = start;
  for (;;) {
    const word = words[index];
    const text = word?.text ?? "";
    if (word === undefined || !text.startsWith("-") || text === "-") break;
    if (text === "--") {
      index++;
      break;
    }
    if (text.includes(kExpansion)) unknown ??= word;
    if (numbers && /^-\d+$/.test(text)) {
      index++;
    } else if (text.startsWith("--")) {
      const equals = text.indexOf("=");
      const longValue = longValues.find((name) => isLong(text, name, 1));
      const name = longValue ?? longFlags.find((each) => isLong(text, each, 1));
      if (name === undefined) unknown ??= word;
      if (equals >= 0) {
        options.push({ name: name ?? text, word, value: partOf(word, text.slice(equals + 1)) });
        index++;
      } else if (longValue !== undefined) {
        const value = words[index + 1];
        options.push(
          value === undefined ? { name: longValue, word } : { name: longValue, word, value },
        );
        index += 2;
      } else {
        options.push({ name: name ?? text, word });
        index++;
      }
    } else {
      let took = 1;
      for (let at = 1; at < text.length; at++) {
        const letter = text.charAt(at);
        if (values.includes(letter)) {
          const read = attached(word, text.slice(at + 1), words[index + 1]);
          took = read.took;
          options.push({ name: letter, word, ...(read.value ? { value: read.value } : {}) });
          break;
        }
        options.push({ name: letter, word, value: partOf(word, text.slice(at + 1)) });
        if (optional.includes(letter)) break;
        if (!flags.includes(letter)) {
          unknown ??= word;
          break;
        }
      }
      index += took;
    }
  }
  return { options, end: Math.min(index, words.length), unknown };
}

/** Reads the options of the whole command line, wherever its operands are. */
export function readAllOptions(
  words: readonly ShellWord[],
  start: number,
  grammar: OptionGrammar,
): OptionsRead & { readonly operands: readonly ShellWord[] } {
  const options: Option[] = [];
  const operands: ShellWord[] = [];
  let unknown: ShellWord | undefined;
  for (let index = start; index < words.length; index++) {
    const read = readOptions(words, index, grammar);
    options.push(...read.options);
    unknown ??= read.unknown;
    index = read.end;
    const operand = words[index];
    if (operand) operands.push(operand);
  }
  return { options, operands, end: words.length, unknown };
}

/** Reads the values of some options of a program, anywhere among otherwise unknown words. */

/**
 * Finds the values of the named options, with `=value`, attached, or in the next word. A name is one letter,
 * a long name without dashes, or one with its single dash.
 */
export type OptionReader = (words: readonly ShellWord[]) => ShellWord[];

export function optionReader(names: readonly string[]): OptionReader {
  const letters = names.filter((name) => name.length === 1);
  const dashed = names.filter((name) => name.startsWith("-"));
  const long = names.filter((name) => name.length > 1 && !name.startsWith("-"));
  const own = (text: string) =>
    dashed.find((name) => text.startsWith(name) && /^(?:=|$)/.test(text.slice(name.length)));
  return (words) => {
    const found: ShellWord[] = [];
    for (let index = 1; index < words.length; index++) {
      const word = words[index];
      if (word === undefined || !word.text.startsWith("-")) continue;
      const { text } = word;
      const next = words[index + 1];
      const add = (value: string | undefined) => {
        if (value !== undefined) found.push(partOf(word, value));
        else if (next) found.push(next);
      };
      const name = own(text);
      if (name !== undefined) add(text === name ? undefined : text.slice(name.length + 1));
      else if (text.startsWith("--")) {
        const equals = text.indexOf("=");
        if (long.some((each) => isLong(text, each)))
          add(equals < 0 ? undefined : text.slice(equals + 1));
      } else {
        for (const letter of letters) {
          const at = text.indexOf(letter);
          if (at < 1 || !/^-\w*$/.test(text.slice(0, at))) continue;
          const rest = text.slice(at + 1);
          add(rest === "" ? undefined : rest.replace(/^=/, ""));
        }
      }
    }
    return found;
  };
}
