/** sed programs: the `e` command and the `e` flag of `s` run a shell; `s`, `y` and text are skipped. */

import type { CommandWrapper, Effect, ShellCall } from "../call.js";
import { readAllOptions } from "../options.js";
import { kExpansion, partOf, type ShellWord } from "../script/word.js";
import { inputText, isInput } from "./effects.js";

type Found = { readonly code: string | undefined } | undefined;

/** Reads one program. `brackets`: a delimiter in `[…]` is a character, which holds for some seds only. */
class SedProgram {
  readonly #text: string;
  readonly #brackets: boolean;
  #at = 0;

  constructor(text: string, brackets: boolean) {
    this.#text = text;
    this.#brackets = brackets;
  }

  /** Returns the first shell command: its text, or undefined if it is the pattern space. */
  shell(): Found {
    while (this.#at < this.#text.length) {
      this.#skipAddress();
      const command = this.#text.charAt(this.#at++);
      if (command === "e") {
        const code = this.#line().trim();
        return { code: /^[};]|^$/.test(code) ? undefined : code };
      }
      if (command === "s" && this.#substitutionRuns()) return { code: undefined };
      if (command === "y") this.#skipParts(false);
      else if (/[aic]/.test(command)) this.#skipText();
      else if (/[rRwW#]/.test(command)) this.#line();
      else if (/[:btTv]/.test(command)) this.#skipTo(/[;}\n]/g);
    }
    return undefined;
  }

  /** Skips an address: a line, `$`, a pattern, steps, signs and blanks. */
  #skipAddress(): void {
    const from = this.#at;
    for (;;) {
      const char = this.#text.charAt(this.#at);
      if (char === "/") {
        this.#at++;
        this.#skipPart("/", this.#brackets);
      } else if (char === "\\") {
        this.#at += 2;
        this.#skipPart(this.#text.charAt(this.#at - 1), this.#brackets);
      } else if (/[\d$,~+!\s;{}]/.test(char) || (/[IM]/.test(char) && from < this.#at)) {
        this.#at++;
      } else {
        return;
      }
    }
  }

  /** Skips a part that ends with `delimiter`. */
  #skipPart(delimiter: string, brackets: boolean): void {
    let set = -1;
    for (; this.#at < this.#text.length; this.#at++) {
      const char = this.#text.charAt(this.#at);
      if (set >= 0) {
        // The first `]` of a set is one of its characters.
        if (char === "]" && this.#at > set) set = -1;
      } else if (char === delimiter) break;
      else if (char === "\\") this.#at++;
      else if (char === "[" && brackets) {
        set = this.#at + (this.#text.charAt(this.#at + 1) === "^" ? 2 : 1);
      }
    }
    this.#at++;
  }

  #skipParts(brackets: boolean): void {
    const delimiter = this.#text.charAt(this.#at++);
    this.#skipPart(delimiter, brackets);
    this.#skipPart(delimiter, false);
  }

  /** Skips an `s`; returns true if its flags run the result. */
  #substitutionRuns(): boolean {
    this.#skipParts(this.#brackets);
    for (; this.#at < this.#text.length; this.#at++) {
      const flag = this.#text.charAt(this.#at);
      if (flag === "e") return true;
      if (flag === "w") this.#line();
      if (!/[gpiImM\d]/.test(flag)) break;
    }
    return false;
  }

  /** Skips the text of `a`, `i` and `c`, in which a backslash at the end of a line continues it. */
  #skipText(): void {
    for (; this.#at < this.#text.length && this.#text[this.#at] !== "\n"; this.#at++) {
      if (this.#text[this.#at] === "\\") this.#at++;
    }
  }

  #line(): string {
    const from = this.#at;
    this.#skipTo(/\n/g);
    return this.#text.slice(from, this.#at);
  }

  #skipTo(sign: RegExp): void {
    sign.lastIndex = this.#at;
    this.#at = sign.exec(this.#text)?.index ?? this.#text.length;
  }
}

function effects(program: ShellWord): Effect[] {
  if (program.text === kExpansion) {
    const reason = "Which sed program runs is only known as it runs.";
    return [{ kind: "finding", rule: "unread-script", reason, word: program }];
  }
  const ways = program.text.includes("[") ? [true, false] : [true];
  return ways.flatMap((brackets): Effect[] => {
    const found = new SedProgram(program.text, brackets).shell();
    if (found === undefined) return [];
    if (found.code !== undefined) return [{ kind: "code", word: partOf(program, found.code) }];
    const reason = "This sed program runs what it reads as commands.";
    return [{ kind: "finding", rule: "inline-code", reason, word: program }];
  });
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

/** Returns the program of -f if it comes from a here-document. */
function fileProgram(call: ShellCall, file: ShellWord): ShellWord[] {
  const input = inputText(call);
  return isInput(file) && typeof input === "object" ? [input] : [];
}

export const sed: CommandWrapper = (call) => {
  const { words } = call;
  const { options, operands } = readAllOptions(words, 1, kGrammar);
  if (options.some(({ name }) => name === "sandbox")) return [];
  const programs = options.flatMap(({ name, value }) => {
    if (value === undefined) return [];
    if (name === "e" || name === "expression") return [value];
    return name === "f" || name === "file" ? fileProgram(call, value) : [];
  });
  const given = options.some(({ name }) => /^(?:e|expression|f|file)$/.test(name));
  const [operand] = operands;
  return (given || operand === undefined ? programs : [operand]).flatMap(effects);
};
