/** sed programs: the `e` command and the `e` flag of `s` run a shell; `s`, `y` and text are skipped. */

import type { Carrier, Effect } from "../call.js";
import { readOptions } from "../options.js";
import { kExpansion, partOf, type ShellWord } from "../word.js";

/** Index after the part that ends with `delimiter`; the text's length when it does not end. */
function skipPart(text: string, from: number, delimiter: string): number {
  let at = from;
  while (at < text.length && text[at] !== delimiter) at += text[at] === "\\" ? 2 : 1;
  return at + 1;
}

function lineEnd(text: string, from: number): number {
  const end = text.indexOf("\n", from);
  return end < 0 ? text.length : end;
}

/** Index after an address: a line, `$`, a pattern, steps, signs and blanks. */
function skipAddress(text: string, from: number): number {
  let at = from;
  for (;;) {
    const char = text.charAt(at);
    if (char === "/") at = skipPart(text, at + 1, "/");
    else if (char === "\\") at = skipPart(text, at + 2, text.charAt(at + 1));
    else if (/[\d$,~+!\s;]/.test(char) && char !== "") at++;
    else if (/[IM]/.test(char) && from < at) at++;
    else return at;
  }
}

type Found = { readonly code: string | undefined } | undefined;

/** The first shell command in a program: its text, or undefined when it is the pattern space. */
function shellIn(text: string): Found {
  let at = 0;
  while (at < text.length) {
    at = skipAddress(text, at);
    const command = text.charAt(at);
    at++;
    if (command === "e") {
      const code = text.slice(at, lineEnd(text, at)).trim();
      return {
        code: code === "" || code.startsWith("}") || code.startsWith(";") ? undefined : code,
      };
    }
    if (command === "s" || command === "y") {
      const delimiter = text.charAt(at);
      at = skipPart(text, skipPart(text, at + 1, delimiter), delimiter);
      if (command === "y") continue;
      const [flags = ""] = /^[gpiImMew\d]*/.exec(text.slice(at)) ?? [];
      const [own = ""] = flags.split("w");
      if (own.includes("e")) return { code: undefined };
      at = flags.includes("w") ? lineEnd(text, at) : at + flags.length;
    } else if (/[aicrRwW:btTvq]/.test(command) && command !== "q") {
      // Labels may also end at a semicolon; what follows is looked at again.
      const end = lineEnd(text, at);
      const semicolon = /[:btTv]/.test(command) ? text.slice(at, end).search(/[;}]/) : -1;
      at = semicolon < 0 ? end : at + semicolon;
    }
  }
  return undefined;
}

function effects(program: ShellWord): Effect[] {
  if (program.text === kExpansion) {
    const reason = "Which sed program runs is only known as it runs.";
    return [{ kind: "finding", rule: "unread-script", reason, word: program }];
  }
  const found = shellIn(program.text);
  if (found === undefined) return [];
  if (found.code !== undefined) return [{ kind: "code", word: partOf(program, found.code) }];
  const reason = "This sed program runs what it reads as commands.";
  return [{ kind: "finding", rule: "inline-code", reason, word: program }];
}

const kGrammar = {
  values: "efl",
  attached: "i",
  flags: "nrsuzbE",
  longValues: ["expression", "file", "line-length"],
  longFlags: [
    "quiet",
    "silent",
    "debug",
    "in-place",
    "regexp-extended",
    "posix",
    "separate",
    "sandbox",
    "null-data",
    "unbuffered",
    "follow-symlinks",
    "zero-terminated",
    "version",
    "help",
  ],
};

export const sed: Carrier = ({ words }) => {
  const { options, end } = readOptions(words, 1, kGrammar);
  if (options.some(({ name }) => name === "sandbox")) return [];
  const programs = options.filter(({ name }) => name === "e" || name === "expression");
  const values = programs.flatMap(({ value }) => (value ? [value] : []));
  const operand = words[end];
  const files = options.some(({ name }) => name === "f" || name === "file");
  if (programs.length === 0 && !files && operand) values.push(operand);
  // Options may follow operands.
  const later = readOptions(words, end + 1, kGrammar).options;
  for (const { name, value } of later) {
    if ((name === "e" || name === "expression") && value) values.push(value);
  }
  return values.flatMap(effects);
};
