/** Effects that several carriers find. */

import type { Effect } from "../call.js";
import type { ShellWord } from "../script/word.js";
import type { ShellFinding } from "../verdict.js";

export function finding(rule: ShellFinding["rule"], reason: string, word: ShellWord): Effect {
  return { kind: "finding", rule, reason, word };
}

export function inlineCode(word: ShellWord): Effect {
  return finding("inline-code", "This has the program load or run other code.", word);
}

export function unknownOption(word: ShellWord): Effect {
  const reason = "This check does not know this option of a command that runs another.";
  return finding("unknown-option", reason, word);
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
