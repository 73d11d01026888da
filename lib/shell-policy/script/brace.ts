/**
 * Brace expansion on raw text, which is where bash does it: quotes are still there and stay.
 * Of a long sequence no more is said than that it is some text, as a glob would.
 */

import type { Budget } from "../budget.js";

/** More words than this are not worth telling apart when they are those of a sequence. */
const kMaxSequence = 64;
const kMaxWords = 1024;
const kAnyText = "*";

/** What one `{…}` stands for, as raw texts. */
export type BraceSet = { readonly texts: readonly string[]; readonly sequence: boolean };

const kNumbers = /^(-?\d+)\.\.(-?\d+)(?:\.\.(-?\d+))?$/;
const kLetters = /^([A-Za-z])\.\.([A-Za-z])(?:\.\.(-?\d+))?$/;

/** Index after the quoted, escaped or substituted text that begins at `at`, or `at` itself. */
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

/** The alternatives between the commas of `inner` that are not quoted or in braces of their own. */
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

/** The raw texts that `{…}` stands for. */
export function braceSet(text: string): BraceSet {
  const inner = text.slice(1, -1);
  const found = alternatives(inner);
  if (found.length > 1) return { texts: found, sequence: false };
  const numbers = kNumbers.exec(inner);
  const letters = kLetters.exec(inner);
  // Neither a list nor a sequence: the braces stay.
  if (!numbers && !letters) return { texts: [`\\{${inner}\\}`], sequence: false };
  const texts = numbers ? numbersOf(numbers) : letters ? lettersOf(letters) : undefined;
  return { texts: texts ?? [kAnyText], sequence: true };
}

/** Every way to take one of each set, joined; undefined when they are too many. */
export function combinations(sets: readonly BraceSet[], budget: Budget): string[] | undefined {
  const count = sets.reduce((product, { texts }) => product * texts.length, 1);
  let words = [""];
  for (const { texts, sequence } of sets) {
    const some = sequence && count > kMaxSequence ? [kAnyText] : texts;
    const next = words.length * some.length;
    if (next > kMaxWords || !budget.spend(next)) return undefined;
    words = words.flatMap((word) => some.map((each) => word + each));
  }
  return words;
}
