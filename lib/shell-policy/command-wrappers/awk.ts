/** awk programs: a command that they pass to a shell is checked if it is a string, otherwise refused. */

import type { CommandWrapper, Effect, ShellCall } from "../call.js";
import { readOptions } from "../options.js";
import { kExpansion, partOf, type ShellWord } from "../script/word.js";
import { inputText, isInput } from "./effects.js";

type Tokens = readonly AwkToken[];
/** Undefined if the command can't be determined. */
type Command = { readonly text: string; readonly exact: boolean } | undefined;

const kStatementEnd = new Set([";", "\n", "}", ")", "#"]);
const kExpressionStart = new Set([";", "\n", "{", "(", ",", "!", "&&", "||", "=", "?", ":"]);

function isSign(token: AwkToken | undefined, text: string): boolean {
  return token?.kind === "sign" && token.text === text;
}

/** Returns the strings from `from` on, in parentheses or not, and their end. */
function stringsFrom(tokens: Tokens, from: number) {
  let at = from;
  let open = 0;
  while (isSign(tokens[at], "(")) {
    at++;
    open++;
  }
  const start = at;
  while (tokens[at]?.kind === "string") at++;
  const strings = tokens.slice(start, at);
  while (open > 0 && isSign(tokens[at], ")")) {
    at++;
    open--;
  }
  return { strings: open === 0 ? strings : [], end: at };
}

function joined(strings: Tokens): Command {
  if (strings.length === 0) return undefined;
  return {
    text: strings.map(({ text }) => text).join(""),
    exact: strings.every(({ exact }) => exact),
  };
}

/** Returns the command of `system(…)` and `print … | …`. */
function commandAfter(tokens: Tokens, from: number): Command {
  const { strings, end } = stringsFrom(tokens, from);
  const next = tokens[end];
  const ends = next === undefined || (next.kind === "sign" && kStatementEnd.has(next.text));
  return ends ? joined(strings) : undefined;
}

/** Returns the command of `… | getline`. */
function commandBefore(tokens: Tokens, to: number): Command {
  let start = to;
  let closed = 0;
  while (isSign(tokens[start - 1], ")")) {
    start--;
    closed++;
  }
  const end = start;
  while (tokens[start - 1]?.kind === "string") start--;
  const strings = tokens.slice(start, end);
  for (; closed > 0 && isSign(tokens[start - 1], "("); closed--) start--;
  const before = tokens[start - 1];
  const starts =
    before === undefined ||
    (before.kind === "sign" && kExpressionStart.has(before.text)) ||
    before.kind === "pattern" ||
    /^(?:if|while|do|else|return)$/.test(before.kind === "name" ? before.text : "");
  return starts && closed === 0 ? joined(strings) : undefined;
}

/** Returns the commands that the program runs in a shell. */
function commandsOf(tokens: Tokens): Command[] {
  const found: Command[] = [];
  tokens.forEach((token, index) => {
    const next = tokens[index + 1];
    if (token.kind === "name" && token.text === "system") {
      found.push(isSign(next, "(") ? commandAfter(tokens, index + 1) : undefined);
    } else if (isSign(token, "|") || isSign(token, "|&")) {
      const reads = next?.kind === "name" && next.text === "getline";
      found.push(reads ? commandBefore(tokens, index) : commandAfter(tokens, index + 1));
    } else if (isSign(token, "@") && next?.kind === "name") {
      found.push(undefined);
    }
  });
  return found;
}

function effects(program: ShellWord): Effect[] {
  if (program.text === kExpansion) {
    const reason = "Which awk program runs is only known as it runs.";
    return [{ kind: "finding", rule: "unread-script", reason, word: program }];
  }
  const ways = program.text.includes("[") ? [true, false] : [true];
  const read = ways.map((brackets) => awkTokens(program.text, brackets));
  const commands = read.flatMap(({ tokens }) => commandsOf(tokens));
  const doubtful = read.some(({ ambiguous }) => ambiguous) && /\bsystem\b|\||@/.test(program.text);
  const found: Effect[] = [];
  for (const command of commands) {
    if (command === undefined) continue;
    const word = partOf(program, command.text);
    found.push({ kind: "code", word: { ...word, literal: word.literal && command.exact } });
  }
  if (!doubtful && !commands.includes(undefined) && !/\/inet[46]?\/(?:tcp|udp)/.test(program.text))
    return found;
  const reason = "This awk program starts commands that can't be read before it runs.";
  return [...found, { kind: "finding", rule: "inline-code", reason, word: program }];
}

const kGrammar = {
  values: "FvfeEilo",
  flags: "bcCghkMnNOPrsStVW",
  longValues: ["field-separator", "assign", "file", "source", "exec", "include", "load"],
  longFlags: [
    "posix",
    "traditional",
    "re-interval",
    "lint",
    "version",
    "csv",
    "bignum",
    "sandbox",
    "characters-as-bytes",
  ],
};

/** Returns the program of -f if it comes from a here-document. */
function fileProgram(call: ShellCall, file: ShellWord): ShellWord[] {
  const input = inputText(call);
  return isInput(file) && typeof input === "object" ? [input] : [];
}

export const awk: CommandWrapper = (call) => {
  const { words } = call;
  const { options, end } = readOptions(words, 1, kGrammar);
  const programs = options.flatMap(({ name, value }) => {
    if (value === undefined) return [];
    if (name === "e" || name === "source") return [value];
    return /^(?:f|file|E|exec)$/.test(name) ? fileProgram(call, value) : [];
  });
  const given = options.some(({ name }) => /^(?:e|source|f|file|E|exec)$/.test(name));
  const operand = words[end];
  const loads = options.find(({ name }) => /^(?:l|load)$/.test(name));
  const reason = "This awk loads a library.";
  const loaded: Effect[] = loads
    ? [{ kind: "finding", rule: "inline-code", reason, word: loads.word }]
    : [];
  return [...loaded, ...(given || !operand ? programs : [operand]).flatMap(effects)];
};

/**
 * Splits an awk program into tokens, in one pass. The token before a slash decides if it begins a pattern or
 * divides; if that is undecidable, the token list is marked as ambiguous.
 */

type AwkToken = {
  readonly kind: "string" | "name" | "number" | "pattern" | "sign";
  /** A string's value; empty for a pattern. */
  readonly text: string;
  /** False for a string with escapes that are not resolved here. */
  readonly exact: boolean;
};

type AwkTokens = {
  readonly tokens: readonly AwkToken[];
  /** True if the text may also be read as other tokens. */
  readonly ambiguous: boolean;
};

const kToken =
  /[ \t\r]+|\\\r?\n|#[^\n]*|[A-Za-z_]\w*|(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?|\|\||\|&|&&|\+\+|--|[\s\S]/y;
const kBeforePattern =
  /^(?:print|printf|return|in|else|do|while|if|case|delete|exit|next|for|function|func)$/;
const kEscapes: Readonly<Record<string, string>> = {
  n: "\n",
  t: "\t",
  '"': '"',
  "\\": "\\",
  "/": "/",
};

/** Returns the index after the string that begins at `from`, and its value. */
function readString(text: string, from: number): { end: number; token: AwkToken } {
  let value = "";
  let exact = true;
  let at = from + 1;
  for (; at < text.length && text[at] !== '"'; at++) {
    const char = text.charAt(at);
    if (char !== "\\") value += char;
    else {
      const escaped = text.charAt(++at);
      const meant = Object.hasOwn(kEscapes, escaped) ? kEscapes[escaped] : undefined;
      if (escaped !== "\n") value += meant ?? escaped;
      if (meant === undefined && escaped !== "\n") exact = false;
    }
  }
  if (at >= text.length) exact = false;
  return { end: at + 1, token: { kind: "string", text: value, exact } };
}

/** Returns the index after the pattern that begins at `from`; undefined if its line has no other slash. */
function patternEnd(text: string, from: number, brackets: boolean): number | undefined {
  let set = -1;
  for (let at = from + 1; at < text.length && text[at] !== "\n"; at++) {
    const char = text[at];
    if (char === "\\") at++;
    else if (set >= 0) {
      // The first `]` of a set is one of its characters.
      if (char === "]" && at > set) set = -1;
    } else if (char === "[" && brackets) set = at + (text[at + 1] === "^" ? 2 : 1);
    else if (char === "/") return at + 1;
  }
  return undefined;
}

function divides(last: AwkToken | undefined): boolean | "perhaps" {
  if (last === undefined) return false;
  if (last.kind === "name") {
    if (last.text === "getline") return "perhaps";
    return !kBeforePattern.test(last.text);
  }
  if (last.kind !== "sign") return true;
  if (last.text === ")" || last.text === "++" || last.text === "--") return "perhaps";
  return last.text === "]";
}

/** `brackets`: a slash in `[…]` does not end a pattern, as in gawk but not in every awk. */
function awkTokens(text: string, brackets: boolean): AwkTokens {
  const tokens: AwkToken[] = [];
  let ambiguous = false;
  /** No pattern ends before this index, which prevents searching a line repeatedly. */
  let searched = 0;
  let at = 0;
  while (at < text.length) {
    if (text[at] === '"') {
      const { end, token } = readString(text, at);
      tokens.push(token);
      at = end;
      continue;
    }
    if (text[at] === "/") {
      const dividing = divides(tokens.at(-1));
      const search = dividing !== true && at >= searched;
      const end = search ? patternEnd(text, at, brackets) : undefined;
      if (search && end === undefined) {
        const line = text.indexOf("\n", at);
        searched = line < 0 ? text.length : line;
      }
      if (dividing === "perhaps" && end !== undefined) ambiguous = true;
      if (dividing === false && end === undefined) ambiguous = true;
      if (dividing === false && end !== undefined) {
        tokens.push({ kind: "pattern", text: "", exact: true });
        at = end;
        continue;
      }
    }
    kToken.lastIndex = at;
    const [found = ""] = kToken.exec(text) ?? [];
    at += Math.max(1, found.length);
    if (/^(?:[ \t\r#]|\\\r?\n)/.test(found)) continue;
    const kind = /^[A-Za-z_]/.test(found) ? "name" : /^\.?\d/.test(found) ? "number" : "sign";
    tokens.push({ kind, text: found, exact: true });
  }
  return { tokens, ambiguous };
}
