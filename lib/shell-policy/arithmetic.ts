/**
 * Values that would run a command as soon as arithmetic reads the variable that holds them. One
 * check sees both, in any order, before it says so: either is harmless alone.
 */

import type { ShellCall } from "./call.js";
import type { Findings } from "./findings.js";
import { hidesSubscript } from "./script/syntax.js";
import type { ShellWord } from "./script/word.js";

/** Builtins that read the name of a variable, or arithmetic, in what their words expand to. */
const kReaders = new Set(
  (
    "declare export getopts let local mapfile printf read readarray readonly test typeset unset " +
    "wait ["
  ).split(" "),
);

export class Arithmetic {
  #reads = false;
  #value: ShellWord | undefined;

  /** There is arithmetic on variables. */
  read(): void {
    this.#reads = true;
  }

  value(word: ShellWord): void {
    if (this.#value === undefined && word.text.includes("[") && hidesSubscript(word.text)) {
      this.#value = word;
    }
  }

  call({ name, words, redirects }: ShellCall): void {
    for (const word of words) this.value(word);
    for (const { target } of redirects) this.value(target);
    if (kReaders.has(name) && words.some(({ literal }) => !literal)) this.read();
  }

  together(findings: Findings): void {
    if (!this.#reads || this.#value === undefined) return;
    const reason = "Arithmetic would run the substitution in this value.";
    findings.add("dynamic-code", reason, this.#value);
  }
}
