/** awk programs: what they pass to a shell is checked when it is a string, refused when it is not. */

import type { Carrier, Effect } from "../call.js";
import { readOptions } from "../options.js";
import { kExpansion, partOf, type ShellWord } from "../word.js";

const kString = String.raw`"((?:[^"\\]|\\.)*)"`;
const kRuns = [
  new RegExp(String.raw`\bsystem\s*\(\s*${kString}\s*\)`, "g"),
  new RegExp(String.raw`${kString}\s*\|&?\s*getline\b`, "g"),
  new RegExp(String.raw`(?<!\|)\|&?\s*${kString}(?!\s*[\w"(])`, "g"),
];
/** What is left of these once the strings above are gone names its command in another way. */
const kHidden =
  /\bsystem\b|\|&|(?<!\|)\|\s*getline\b|\bprintf?\b[^;}\n]*(?<!\|)\|(?!\|)\s*[\w($]|@\s*(?:\w+\s*\(|load|include)|\/inet[46]?\/(?:tcp|udp)/;

function unescaped(text: string): string {
  return text.replace(/\\(["\\/])/g, "$1");
}

function effects(program: ShellWord): Effect[] {
  const found: Effect[] = [];
  let rest = program.text;
  for (const pattern of kRuns) {
    rest = rest.replace(pattern, (_, code: string) => {
      const word = partOf(program, unescaped(code));
      // Other escapes are octal and the like, which a shell would not see.
      found.push({
        kind: "code",
        word: { ...word, literal: word.literal && !/\\[^"\\/]/.test(code) },
      });
      return " ";
    });
  }
  if (program.text === kExpansion) {
    const reason = "Which awk program runs is only known as it runs.";
    return [{ kind: "finding", rule: "unread-script", reason, word: program }];
  }
  if (!kHidden.test(rest)) return found;
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

export const awk: Carrier = ({ words }) => {
  const { options, end } = readOptions(words, 1, kGrammar);
  const programs = options.filter(({ name }) => name === "e" || name === "source");
  const files = options.some(({ name }) => /^(?:f|file|E|exec)$/.test(name));
  const operand = words[end];
  const values = programs.flatMap(({ value }) => (value ? [value] : []));
  if (programs.length === 0 && !files && operand) values.push(operand);
  const loads = options.find(({ name }) => /^(?:l|load)$/.test(name));
  const reason = "This awk loads a library.";
  const loaded: Effect[] = loads
    ? [{ kind: "finding", rule: "inline-code", reason, word: loads.word }]
    : [];
  return [...loaded, ...values.flatMap(effects)];
};
