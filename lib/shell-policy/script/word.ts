/**
 * A shell word as the command will receive it: quotes, escapes and braces resolved. Unknown text is
 * represented by a mark, one of Unicode's noncharacters, which budget.ts excludes from commands.
 */

import { parse, type Word, type WordPart } from "unbash";

import { type Budget, kBraceSteps, kParseSteps } from "../budget.js";
import { type Bindings, fieldsOf, kAnyCharacter, kAnyText, kExpansion } from "./expansion.js";

export { kAnyCharacter, kAnyText, kExpansion };

export type ShellWord = {
  /** The value, with `$HOME` as `~`; see the marks above. */
  readonly text: string;
  /** True if nothing in it is expanded at run time: `text` is exact. */
  readonly literal: boolean;
  /** The word as written. */
  readonly raw: string;
  readonly position: number | undefined;
};

const kPlain = /^[\w@%+=:,./^~-]+$/;
const kMaxBraceDepth = 16;

/** True if nothing in this text is special to the shell. */
export function isPlain(text: string): boolean {
  return kPlain.test(text);
}

function parseWord(raw: string): Word | undefined {
  // A `#` that followed a brace in the source does not begin a comment.
  const script = parse(raw.startsWith("#") ? `: \\${raw}` : `: ${raw}`);
  const command = script.commands[0]?.command;
  if (script.errors !== undefined || script.commands.length !== 1) return undefined;
  if (command?.type !== "Command" || command.suffix.length !== 1) return undefined;
  const [word] = command.suffix;
  return word?.type === "Word" ? word : undefined;
}

/** Returns the words of the parts with their braces expanded; undefined if they can't be determined. */
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
 * Returns the words that a word of the source becomes: several through braces, none for `{,}`. Braces that
 * can't be expanded exhaust the budget. With `bindings`, variables have their values.
 */
export function shellWords(
  word: Word,
  position: number | undefined,
  budget: Budget,
  bindings?: Bindings,
  depth = 0,
): ShellWord[] {
  const raw = word.text;
  if (isPlain(raw)) return [{ text: raw, literal: true, raw, position }];
  if (!budget.spend(kParseSteps * raw.length)) return [];
  const parts = word.parts;
  if (parts === undefined) return [{ text: word.value, literal: true, raw, position }];
  if (!parts.some((part) => part.type === "BraceExpansion")) {
    const fields = fieldsOf(parts, bindings);
    const length = bindings ? fields.reduce((sum, { text }) => sum + text.length, 0) : 0;
    if (!budget.spend(length)) return [];
    return fields.map(({ text, literal }) => ({ text, literal, raw, position }));
  }
  const words = depth < kMaxBraceDepth ? expanded(parts, budget) : undefined;
  if (words === undefined) {
    budget.exhaust();
    return [];
  }
  const inner = words.flatMap((each) => shellWords(each, position, budget, bindings, depth + 1));
  return inner.map((each) => ({ ...each, raw }));
}

/** Returns a word with only this part of another's text. */
export function partOf(word: ShellWord, text: string): ShellWord {
  return { ...word, text };
}

/** Returns a word with unknown text, for input that the command gets at run time. */
export function unknownWord(position: number | undefined): ShellWord {
  return { text: kExpansion, literal: false, raw: "", position };
}

/** Returns the word for a message, with marks replaced by readable text. */
export function printable(word: ShellWord): string {
  return word.text
    .replaceAll(kExpansion, "…")
    .replaceAll(kAnyText, "*")
    .replaceAll(kAnyCharacter, "?");
}

/**
 * Expands braces in raw text, where bash does it: quotes are kept. A long sequence is represented as any
 * text, like a glob.
 */

/** Sequences with more words than this are not enumerated. */
const kMaxSequence = 64;
const kMaxWords = 1024;
const kAnyWord = "*";

/** The raw texts that one `{…}` represents. */
type BraceSet = { readonly texts: readonly string[]; readonly sequence: boolean };

const kNumbers = /^(-?\d+)\.\.(-?\d+)(?:\.\.(-?\d+))?$/;
const kLetters = /^([A-Za-z])\.\.([A-Za-z])(?:\.\.(-?\d+))?$/;

/** Returns the index after the quoted, escaped or substituted text that begins at `at`, or `at` itself. */
function skip(text: string, at: number): number {
  const start = text.slice(at, at + 2);
  if (start[0] === "\\") return at + 2;
  if (start[0] === "'" || start[0] === '"' || start[0] === "`" || start === "$'") {
    let end = at + (start === "$'" ? 2 : 1);
    const quote = start === "$'" ? "'" : start[0];
    while (end < text.length && text[end] !== quote) {
      end += text[end] === "\\" && start[0] !== "'" ? 2 : 1;
    }
    return end + 1;
  }
  if (start !== "$(" && start !== "${" && start !== "<(" && start !== ">(") return at;
  const [open, close] = start === "${" ? ["{", "}"] : ["(", ")"];
  let depth = 1;
  let end = at + 2;
  while (end < text.length && depth > 0) {
    const next = skip(text, end);
    if (next === end) {
      if (text[end] === open) depth++;
      if (text[end] === close) depth--;
      end++;
    } else {
      end = next;
    }
  }
  return end;
}

/** Returns the alternatives between the commas of `inner` that are neither quoted nor in nested braces. */
function alternatives(inner: string): string[] {
  const found: string[] = [];
  let depth = 0;
  let start = 0;
  let at = 0;
  while (at < inner.length) {
    const next = skip(inner, at);
    if (next > at) {
      at = next;
      continue;
    }
    if (inner[at] === "{") depth++;
    if (inner[at] === "}") depth--;
    if (inner[at] === "," && depth === 0) {
      found.push(inner.slice(start, at));
      start = at + 1;
    }
    at++;
  }
  found.push(inner.slice(start));
  return found;
}

function range(first: number, last: number, step: number): number[] | undefined {
  const stride = Math.abs(step) || 1;
  const count = Math.floor(Math.abs(last - first) / stride) + 1;
  if (count > kMaxSequence) return undefined;
  const sign = last < first ? -1 : 1;
  return Array.from({ length: count }, (_, index) => first + sign * index * stride);
}

function numbersOf([, first = "", last = "", step = "1"]: RegExpExecArray): string[] | undefined {
  const padded = /^-?0\d/.test(first) || /^-?0\d/.test(last);
  const width = padded ? Math.max(first.length, last.length) : 0;
  return range(Number(first), Number(last), Number(step))?.map((value) =>
    value < 0 ? `-${String(-value).padStart(width - 1, "0")}` : String(value).padStart(width, "0"),
  );
}

function lettersOf([, first = "", last = "", step = "1"]: RegExpExecArray): string[] | undefined {
  const codes = range(first.charCodeAt(0), last.charCodeAt(0), Number(step));
  return codes?.map((code) => `\\${String.fromCharCode(code)}`);
}

/** Returns the raw texts that `{…}` represents. */
function braceSet(text: string): BraceSet {
  const inner = text.slice(1, -1);
  const found = alternatives(inner);
  if (found.length > 1) return { texts: found, sequence: false };
  const numbers = kNumbers.exec(inner);
  const letters = kLetters.exec(inner);
  // Neither a list nor a sequence: the braces remain.
  if (!numbers && !letters) return { texts: [`\\{${inner}\\}`], sequence: false };
  const texts = numbers ? numbersOf(numbers) : letters ? lettersOf(letters) : undefined;
  return { texts: texts ?? [kAnyWord], sequence: true };
}

/** Returns every combination of one text per set, joined; undefined if there are too many. */
function combinations(sets: readonly BraceSet[], budget: Budget): string[] | undefined {
  const count = sets.reduce((product, { texts }) => product * texts.length, 1);
  let words = [""];
  for (const { texts, sequence } of sets) {
    const some = sequence && count > kMaxSequence ? [kAnyWord] : texts;
    const next = words.length * some.length;
    if (next > kMaxWords || !budget.spend(next)) return undefined;
    words = words.flatMap((word) => some.map((each) => word + each));
  }
  return words;
}
