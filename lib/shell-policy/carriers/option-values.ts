/** The values of some options of a program, wherever they stand among words that are not known. */

import { isLong } from "../options.js";
import { partOf, type ShellWord } from "../word.js";

/**
 * The values of the named options, with `=value`, attached, or in the next word. A name is one
 * letter, a long name without dashes, or one with its single dash.
 */
export function optionValues(words: readonly ShellWord[], names: readonly string[]): ShellWord[] {
  const letters = names.filter((name) => name.length === 1);
  const dashed = names.filter((name) => name.startsWith("-"));
  const long = names.filter((name) => name.length > 1 && !name.startsWith("-"));
  const found: ShellWord[] = [];
  words.forEach((word, index) => {
    const { text } = word;
    if (index === 0 || !text.startsWith("-")) return;
    const next = words[index + 1];
    if (text.startsWith("--")) {
      if (!long.some((name) => isLong(text, name))) return;
      const equals = text.indexOf("=");
      if (equals >= 0) found.push(partOf(word, text.slice(equals + 1)));
      else if (next) found.push(next);
      return;
    }
    const own = dashed.find(
      (name) => text.startsWith(name) && /^(?:=|$)/.test(text.slice(name.length)),
    );
    if (own !== undefined) {
      if (text !== own) found.push(partOf(word, text.slice(own.length + 1)));
      else if (next) found.push(next);
      return;
    }
    for (const letter of letters) {
      const at = text.indexOf(letter);
      if (at < 1 || !/^-\w*$/.test(text.slice(0, at))) continue;
      const rest = text.slice(at + 1);
      if (rest !== "") found.push(partOf(word, rest.replace(/^=/, "")));
      else if (next) found.push(next);
    }
  });
  return found;
}
