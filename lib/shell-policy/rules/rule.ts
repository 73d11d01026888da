/** A class of the block list, or a part of one. */

import type { ShellCall } from "../call.js";
import type { ShellWord } from "../script/word.js";
import type { ShellBlockRule } from "../verdict.js";

export type ShellRule = {
  readonly name: ShellBlockRule;
  readonly reason: string;
  /** The commands it is about, by name. */
  readonly commands: readonly string[];
  /** The offending word; the command word itself where no argument is to blame. */
  readonly find: (call: ShellCall) => ShellWord | undefined;
};

/** Any use of the command. */
export function anyUse({ words }: ShellCall): ShellWord | undefined {
  return words[0];
}

/** The arguments that are not options. */
export function operands({ words }: ShellCall): ShellWord[] {
  const found: ShellWord[] = [];
  let dashes = false;
  for (const word of words.slice(1)) {
    if (!dashes && word.text === "--") dashes = true;
    else if (dashes || !word.text.startsWith("-") || word.text === "-") found.push(word);
  }
  return found;
}
