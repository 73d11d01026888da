/** The folder that literal `cd`s of a script have led to, as far as it can be told. */

import { resolved } from "./path.js";
import type { ShellWord } from "./script/word.js";

export class WorkingDirectory {
  #path: string | undefined;

  /** Undefined at first, and where a `cd` is only known as it runs. */
  get path(): string | undefined {
    return this.#path;
  }

  /** After a `cd` or `pushd` with these words. */
  enter(words: readonly ShellWord[]): void {
    const target = words.slice(1).find(({ text }) => !/^-[LPe@]+$|^--$/.test(text));
    if (target === undefined) this.#path = "~";
    else
      this.#path =
        target.literal || target.text === "~" ? resolved(target.text, this.#path) : undefined;
  }
}
