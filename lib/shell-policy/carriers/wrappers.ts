/** Commands that run the command in their operands: how their own options are told from it. */

import { basename, type Carrier, type Effect } from "../call.js";
import { type Option, type OptionsRead, readOptions } from "../options.js";
import type { ShellFinding } from "../verdict.js";
import type { ShellWord } from "../word.js";
import { kWrappers, type Wrapper } from "./wrapper-options.js";

const kAssignment = /^([A-Za-z_]\w*|BASH_FUNC_[^=]*)=/;

/** An assignment word as an effect. */
export function assignmentIn(word: ShellWord): Effect | undefined {
  const [found, name] = kAssignment.exec(word.text) ?? [];
  if (found === undefined || name === undefined) return undefined;
  return { kind: "variable", name, value: { ...word, text: word.text.slice(found.length) } };
}

/** Options of the whole command line, wherever its operands stand. */
function readAll(words: readonly ShellWord[], grammar: Wrapper): OptionsRead {
  const options: Option[] = [];
  let unknown: ShellWord | undefined;
  for (let index = 1; index < words.length; index++) {
    const read = readOptions(words, index, grammar);
    options.push(...read.options);
    unknown ??= read.unknown;
    index = read.end;
  }
  return { options, end: words.length, unknown };
}

function finding(rule: ShellFinding["rule"], reason: string, word: ShellWord): Effect {
  return { kind: "finding", rule, reason, word };
}

/** Index of the command among the words, past assignments and the wrapper's own operands. */
function commandIndex(words: readonly ShellWord[], end: number, grammar: Wrapper, found: Effect[]) {
  let index = end;
  if (grammar.assignments) {
    if (words[index]?.text === "-") index++;
    for (let word = words[index]; word; word = words[++index]) {
      const effect = assignmentIn(word);
      if (effect === undefined) break;
      found.push(effect);
    }
  }
  index += grammar.operands ?? 0;
  return words[index]?.text === "--" ? index + 1 : index;
}

function wrapper(grammar: Wrapper): Carrier {
  return ({ words }) => {
    const read = grammar.permuted ? readAll(words, grammar) : readOptions(words, 1, grammar);
    const { options, end, unknown } = read;
    const has = (names: readonly string[] = []) => options.some(({ name }) => names.includes(name));
    const effects: Effect[] = [];
    if (unknown) {
      const reason = "This check does not know this option of a command that runs another.";
      effects.push(finding("unknown-option", reason, unknown));
    }
    const codes = options.flatMap(({ name, value }) =>
      value && grammar.code?.includes(name) ? [value] : [],
    );
    effects.push(...codes.map((word): Effect => ({ kind: "code", word })));
    if (has(grammar.idle)) return effects;
    const index = commandIndex(words, end, grammar, effects);
    // After its own operand one may take code: flock FILE -c CODE.
    const [command] = words;
    const code = words[index + 1];
    if (grammar.operands && grammar.code && /^-c$|^--com/.test(words[index]?.text ?? "")) {
      if (code) effects.push({ kind: "code", word: code });
    } else if (index < words.length) {
      effects.push({ kind: "call", words: words.slice(index) });
    } else if (
      command &&
      codes.length === 0 &&
      (has(grammar.shell) || grammar.shell?.includes(""))
    ) {
      const reason = "This starts a shell that takes its commands from its input.";
      effects.push(finding("pipe-to-shell", reason, command));
    }
    return effects;
  };
}

const kLoader = /^ld(?:-linux[\w-]*|-musl-\w+)?\.so(?:\.\d+)?$/;
const kLoaderGrammar: Wrapper = {
  longValues: ["library-path", "preload", "audit", "argv0", "inhibit-rpath"],
  longFlags: ["list", "verify", "inhibit-cache"],
};

const kCarriers = new Map(
  Object.entries(kWrappers).map(([name, grammar]) => [name, wrapper(grammar)]),
);

/** The carrier of a wrapper by its name, also of the dynamic loader by its path. */
export function wrapperCarrier(name: string): Carrier | undefined {
  return (
    kCarriers.get(name) ?? (kLoader.test(basename(name)) ? wrapper(kLoaderGrammar) : undefined)
  );
}
