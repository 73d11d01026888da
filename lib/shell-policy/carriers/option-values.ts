/** The values of some options of a program, wherever they stand among words that are not known. */

import { isLong } from "../options.js";
import { partOf, type ShellWord } from "../script/word.js";

/**
 * Finds the values of the named options, with `=value`, attached, or in the next word. A name is
 * one letter, a long name without dashes, or one with its single dash.
 */
export type OptionReader = (words: readonly ShellWord[]) => ShellWord[];

export function optionReader(names: readonly string[]): OptionReader {
  const letters = names.filter((name) => name.length === 1);
  const dashed = names.filter((name) => name.startsWith("-"));
  const long = names.filter((name) => name.length > 1 && !name.startsWith("-"));
  const own = (text: string) =>
    dashed.find((name) => text.startsWith(name) && /^(?:=|$)/.test(text.slice(name.length)));
  return (words) => {
    const found: ShellWord[] = [];
    for (let index = 1; index < words.length; index++) {
      const word = words[index];
      if (word === undefined || !word.text.startsWith("-")) continue;
      const { text } = word;
      const next = words[index + 1];
      const add = (value: string | undefined) => {
        if (value !== undefined) found.push(partOf(word, value));
        else if (next) found.push(next);
      };
      const name = own(text);
      if (name !== undefined) add(text === name ? undefined : text.slice(name.length + 1));
      else if (text.startsWith("--")) {
        const equals = text.indexOf("=");
        if (long.some((each) => isLong(text, each)))
          add(equals < 0 ? undefined : text.slice(equals + 1));
      } else {
        for (const letter of letters) {
          const at = text.indexOf(letter);
          if (at < 1 || !/^-\w*$/.test(text.slice(0, at))) continue;
          const rest = text.slice(at + 1);
          add(rest === "" ? undefined : rest.replace(/^=/, ""));
        }
      }
    }
    return found;
  };
}
