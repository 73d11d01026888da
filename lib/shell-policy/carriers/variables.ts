/** Assignments among a command's words. */

import type { Effect } from "../call.js";
import type { ShellWord } from "../script/word.js";

const kAssignment = /^([A-Za-z_]\w*|BASH_FUNC_[^=]*)=/;

/** An assignment word as an effect. */
export function assignmentIn(word: ShellWord): Effect | undefined {
  const [found, name] = kAssignment.exec(word.text) ?? [];
  if (found === undefined || name === undefined) return undefined;
  return { kind: "variable", name, value: { ...word, text: word.text.slice(found.length) } };
}
