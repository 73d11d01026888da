/** Words of a program of which nothing is known that may name a command for it to run. */

import { partOf, type ShellWord } from "../script/word.js";

/** Names of commands that are more often a program's own word: `tool test`, `tool --type file`. */
const kOwnWords = new Set(
  (
    "[ alias at batch bind builtin cat cc clear command complete cut date declare diff dir dirs echo enable " +
    "env eval ex exec exit export expr false fc file find fold format fmt free git go hash head help " +
    "history host id info install jobs join kill last less let link local login look make man more mount " +
    "node npm paste patch pr printf python read rename return run script sed sequence service set shift " +
    "sleep sort source split stat strip sum sync test time times top touch trap tree true type ulimit " +
    "unset users view x86_64 i386 linux32 linux64 arm aarch64 w wait watch which who write yarn yes"
  ).split(" "),
);

/** What of a word would name the command, and whether it has arguments of its own with it. */
function named(word: ShellWord): { text: string; line: boolean } {
  const { text } = word;
  const assigned = /^-*[\w.-]+=/.exec(text)?.[0] ?? "";
  const value = text.slice(text.startsWith("-") && assigned === "" ? text.length : assigned.length);
  const [first = ""] = value.trimStart().split(/[\s;&|]/, 1);
  return { text: first, line: first.length < value.trim().length };
}

/** With the index at which a command would begin. */
export function possibleCommands(
  words: readonly ShellWord[],
): { readonly word: ShellWord; readonly index: number }[] {
  return words.flatMap((word, index) => {
    const before = words[index - 1]?.text ?? "";
    const { text, line } = named(word);
    const own =
      index < 2 ||
      (before.startsWith("-") && before !== "--") ||
      word.text.startsWith("-") ||
      word.text.includes("=");
    if (index === 0 || text === "" || (own && !line && kOwnWords.has(text))) return [];
    return [{ word: partOf(word, text), index }];
  });
}
