/**
 * A shell word as the command will get it: quotes, escapes and braces resolved. What can't be known
 * is a mark in the text, one of Unicode's noncharacters, which limits.ts keeps out of commands.
 */

import { parse, type Word, type WordPart } from "unbash";
import type { Budget } from "../budget.js";
import { kBraceSteps, kParseSteps } from "../limits.js";
import { type BraceSet, braceSet, combinations } from "./brace.js";

/** Where an expansion's value would stand. */
export const kExpansion = "\ufdd0";
/** Where a glob takes any text. */
export const kAnyText = "\ufdd1";
/** Where a glob takes one character. */
export const kAnyCharacter = "\ufdd2";

export type ShellWord = {
  /** The value, `$HOME` as `~`; see the marks above. */
  readonly text: string;
  /** Nothing in it is expanded when the command runs: `text` is exact. */
  readonly literal: boolean;
  /** As it was written. */
  readonly raw: string;
  readonly position: number | undefined;
};

const kPlain = /^[\w@%+=:,./^~-]+$/;
const kHome = /^\$(?:HOME|\{HOME\})$/;
const kMaxBraceDepth = 16;

/** Nothing in this text is special to the shell. */
export function isPlain(text: string): boolean {
  return kPlain.test(text);
}

function textOf(parts: readonly WordPart[]): string {
  let text = "";
  for (const part of parts) {
    switch (part.type) {
      case "Literal":
      case "SingleQuoted":
      case "AnsiCQuoted":
        text += part.value;
        break;
      case "DoubleQuoted":
      case "LocaleString":
        text += textOf(part.parts);
        break;
      case "Glob":
        text += part.kind === "star" ? kAnyText : kAnyCharacter;
        break;
      case "ExtendedGlob":
      case "BraceExpansion":
        text += kAnyText;
        break;
      case "SimpleExpansion":
        text += kHome.test(part.text) ? "~" : kExpansion;
        break;
      case "ParameterExpansion":
        if (part.operation?.type === "Default") {
          text += kExpansion + textOf(part.operation.operand.parts ?? []);
          if (part.operation.operand.parts === undefined) text += part.operation.operand.value;
        } else {
          text += kHome.test(part.text) ? "~" : kExpansion;
        }
        break;
      default:
        text += kExpansion;
    }
  }
  return text;
}

function isExact(part: WordPart): boolean {
  switch (part.type) {
    case "Literal":
    case "SingleQuoted":
    case "AnsiCQuoted":
      return true;
    case "DoubleQuoted":
      return part.parts.every(isExact);
    default:
      return false;
  }
}

function parseWord(raw: string): Word | undefined {
  // A sign that begins a comment does not where a brace stood before it.
  const script = parse(raw.startsWith("#") ? `: \\${raw}` : `: ${raw}`);
  const command = script.commands[0]?.command;
  if (script.errors !== undefined || script.commands.length !== 1) return undefined;
  if (command?.type !== "Command" || command.suffix.length !== 1) return undefined;
  const [word] = command.suffix;
  return word?.type === "Word" ? word : undefined;
}

/** The words of the parts with their braces expanded; undefined when those can't be told. */
function expanded(parts: readonly WordPart[], budget: Budget): Word[] | undefined {
  const sets = parts.map(
    (part): BraceSet =>
      part.type === "BraceExpansion"
        ? braceSet(part.text)
        : { texts: [part.text], sequence: false },
  );
  const words: Word[] = [];
  for (const raw of combinations(sets, budget) ?? [undefined]) {
    if (raw === "") continue;
    if (raw === undefined || !budget.spend(kBraceSteps + kParseSteps * raw.length))
      return undefined;
    const word = parseWord(raw);
    if (word === undefined) return undefined;
    words.push(word);
  }
  return words;
}

/**
 * The words that a word of the source becomes: more than one by braces, none by `{,}`. Braces that
 * can't be expanded exhaust the budget.
 */
export function shellWords(
  word: Word,
  position: number | undefined,
  budget: Budget,
  depth = 0,
): ShellWord[] {
  const raw = word.text;
  if (isPlain(raw)) return [{ text: raw, literal: true, raw, position }];
  if (!budget.spend(kParseSteps * raw.length)) return [];
  const parts = word.parts;
  if (parts === undefined) return [{ text: word.value, literal: true, raw, position }];
  if (!parts.some((part) => part.type === "BraceExpansion")) {
    return [{ text: textOf(parts), literal: parts.every(isExact), raw, position }];
  }
  const words = depth < kMaxBraceDepth ? expanded(parts, budget) : undefined;
  if (words === undefined) {
    budget.exhaust();
    return [];
  }
  const inner = words.flatMap((each) => shellWords(each, position, budget, depth + 1));
  return inner.map((each) => ({ ...each, raw }));
}

/** A word that holds just this part of another's text. */
export function partOf(word: ShellWord, text: string): ShellWord {
  return { ...word, text };
}

/** A word of which nothing is known, in place of input that the command gets as it runs. */
export function unknownWord(position: number | undefined): ShellWord {
  return { text: kExpansion, literal: false, raw: "", position };
}

/** The word for a message: marks as what they stand for. */
export function printable(word: ShellWord): string {
  return word.text
    .replaceAll(kExpansion, "…")
    .replaceAll(kAnyText, "*")
    .replaceAll(kAnyCharacter, "?");
}
