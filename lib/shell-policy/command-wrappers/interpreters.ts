/** Interpreters: programs given on the command line or through a pipe can't be judged like shell code. */

import type { CommandWrapper, Effect, ShellCall } from "../call.js";
import type { ShellWord } from "../script/word.js";
import { fromInput, inputText, isInput } from "./effects.js";

type Interpreter = {
  /** Letters whose value is a program. */
  readonly inline: string;
  readonly inlineLong?: readonly string[];
  /** Letters and long names with another value. */
  readonly values?: string;
  readonly longValues?: readonly string[];
  /** Letters whose value names the code to run instead of a script. */
  readonly instead?: string;
  /** Options with which no program is read. */
  readonly idle?: RegExp;
  /** Other words that hold code. */
  readonly refused?: RegExp;
  /** First operands that are followed by a program (deno eval). */
  readonly command?: RegExp;
};

const kData = /^(?:--[\w-]+=)?data:/;
const kIdle = /^(?:-[vVh]+|--version|--help)$/;
const kNode: Interpreter = {
  inline: "ep",
  inlineLong: ["eval", "print"],
  values: "rC",
  longValues: ["require", "import", "loader", "conditions", "env-file", "title"],
  idle: /^(?:-[vhc]|--check|--version|--help|--test|--run|--v8-options|--watch-path|--build-sea)/,
};

const kInterpreters: Readonly<Record<string, Interpreter>> = {
  python: { inline: "c", values: "WXQ", instead: "m", longValues: ["check-hash-based-pycs"] },
  pypy: { inline: "c", values: "WX", instead: "m" },
  perl: {
    inline: "eE",
    instead: "",
    refused: /^-[mM].*[;({]/,
    idle: /^(?:-[vVh]|-V:.*|--version|--help)$/,
  },
  ruby: { inline: "e", values: "rIEC" },
  node: kNode,
  nodejs: kNode,
  bun: {
    inline: "ep",
    inlineLong: ["eval", "print"],
    idle: /^(?:-[vh]|--version|--help|--revision)$/,
  },
  deno: { inline: "", command: /^eval$/, idle: /^./ },
  tsx: { inline: "ep", inlineLong: ["eval", "print"] },
  php: {
    inline: "rBRE",
    inlineLong: ["run"],
    values: "dcztS",
    refused: /^(?:-d)?(?:auto_(?:ap|pre)pend_file|allow_url_include|extension|zend_extension)=/,
    instead: "f",
    idle: /^(?:-[vihm]|--version|--info|--ini|--help|--modules|-S)$/,
  },
  lua: { inline: "e", values: "l" },
  luajit: { inline: "e", values: "lj" },
  Rscript: { inline: "e" },
  R: { inline: "e", idle: /^(?:CMD|--version|--help)$/ },
  ipython: { inline: "c" },
  julia: { inline: "eE", inlineLong: ["eval", "print"], values: "LJtp" },
  osascript: { inline: "e", values: "ls" },
  groovy: { inline: "e" },
  elixir: { inline: "e", inlineLong: ["eval", "rpc-eval"] },
  erl: { inline: "", command: /^$/, idle: /^./ },
  guile: { inline: "c", values: "lLeCx" },
  tclsh: { inline: "" },
  wish: { inline: "" },
  expect: { inline: "c", values: "f" },
  pwsh: { inline: "cC", inlineLong: ["command"] },
};

const kVersion = /^([A-Za-z]+?)-?\d[\d.]*$/;

function interpreterOf(name: string): Interpreter | undefined {
  if (Object.hasOwn(kInterpreters, name)) return kInterpreters[name];
  const [, base] = kVersion.exec(name) ?? [];
  return base !== undefined && Object.hasOwn(kInterpreters, base) ? kInterpreters[base] : undefined;
}

/** Modules of Python that run a program from the command line, or prompt for one. */
const kInlineModules = /^(?:timeit|code|codeop|IPython|ipython|ptpython|bpython)(?:\.|$)/;
/** Modules that run another module or script, after their own options. */
const kRunnerModules = /^(?:pdb|trace|cProfile|profile|runpy|coverage|doctest|kernprof)$/;

/** Returns the effects of the module named by `-m`. */
function moduleEffects(words: readonly ShellWord[], index: number): Effect[] {
  const word = words[index];
  const own = /^-\w*?m(.+)$/.exec(word?.text ?? "")?.[1];
  const name = own ?? words[index + 1]?.text ?? "";
  if (word === undefined) return [];
  if (kInlineModules.test(name)) return inlineCode(word);
  if (!kRunnerModules.test(name)) return [];
  const rest = words.slice(own === undefined ? index + 2 : index + 1);
  if (name === "pdb" && rest.some(({ text }) => /^(?:-c|--command)/.test(text)))
    return inlineCode(word);
  const next = rest.findIndex(({ text }) => /^-m/.test(text));
  return next < 0 ? [] : moduleEffects(rest, next);
}

function inlineCode(word: ShellWord): Effect[] {
  const reason = "This runs a program from the command line; put it in a file.";
  return [{ kind: "finding", rule: "inline-code", reason, word }];
}

function fromStandardInput(call: ShellCall, command: ShellWord): Effect[] {
  const input = inputText(call);
  if (typeof input === "object") return inlineCode(command);
  if (input === undefined) return [fromInput(call, command)];
  const reason = "This interpreter runs a file that this check does not read.";
  return [{ kind: "finding", rule: "unread-script", reason, word: command }];
}

/** Returns the first deciding letter of a bundle such as `-uc`; "" if it has none. */
function deciding(text: string, { inline, values = "", instead = "" }: Interpreter): string {
  for (const letter of text.slice(1)) {
    if ((inline + values + instead).includes(letter)) return letter;
    if (!/[A-Za-z0-9]/.test(letter)) return "";
    // These letters take the rest of the word: perl -Mstrict, -I., -F:; -i.bak has a dot next.
    if (/[MIFDx]/.test(letter) && values === "") return "";
  }
  return "";
}

function wrapper(interpreter: Interpreter): CommandWrapper {
  const { inline, inlineLong = [], values = "", longValues = [], instead = "" } = interpreter;
  const idle = interpreter.idle ?? kIdle;
  return (call) => {
    const { words } = call;
    const [command] = words;
    if (command === undefined) return [];
    const data = words.find(({ text }) => interpreter.refused?.test(text) || kData.test(text));
    if (data) return inlineCode(data);
    let index = 1;
    for (; index < words.length; index++) {
      const word = words[index];
      const text = word?.text ?? "-";
      if (word === undefined || text === "-" || !text.startsWith("-")) break;
      if (text === "--") {
        index++;
        break;
      }
      if (text.startsWith("--")) {
        const [name = "", value] = text.slice(2).split("=");
        if (inlineLong.includes(name)) return inlineCode(word);
        if (value === undefined && longValues.includes(name)) index++;
      } else {
        const letter = deciding(text, interpreter);
        if (letter !== "" && inline.includes(letter)) return inlineCode(word);
        if (letter !== "" && instead.includes(letter)) {
          return letter === "m" ? moduleEffects(words, index) : [];
        }
        if (letter !== "" && values.includes(letter) && text.endsWith(letter)) index++;
      }
      if (idle.test(text)) return [];
    }
    const operand = words[index];
    if (operand !== undefined && interpreter.command?.test(operand.text))
      return inlineCode(operand);
    if (operand !== undefined && isInput(operand)) {
      return operand.text === "-" ? fromStandardInput(call, command) : [fromInput(call, operand)];
    }
    if (operand !== undefined || (interpreter.command && words.length > 1)) return [];
    return fromStandardInput(call, command);
  };
}

const kCommandWrappers = new Map<Interpreter, CommandWrapper>();

/** Returns the command wrapper of an interpreter, whatever version its name ends in. */
export function interpreterWrapper(name: string): CommandWrapper | undefined {
  const interpreter = interpreterOf(name);
  return interpreter && kCommandWrappers.get(interpreter);
}

for (const interpreter of Object.values(kInterpreters)) {
  kCommandWrappers.set(interpreter, wrapper(interpreter));
}
