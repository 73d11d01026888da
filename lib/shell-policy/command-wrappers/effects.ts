/** Effects that several command wrappers find. */

import type { CommandWrapper, Effect, ShellCall } from "../call.js";
import type { ShellFinding } from "../policy.js";
import { kElement } from "../script/expansion.js";
import { kExpansion, type ShellWord } from "../script/word.js";

export function finding(rule: ShellFinding["rule"], reason: string, word: ShellWord): Effect {
  return { kind: "finding", rule, reason, word };
}

export function inlineCode(word: ShellWord): Effect {
  return finding("inline-code", "This has the program load or run other code.", word);
}

export function unknownOption(word: ShellWord): Effect {
  const reason = "This check does not know this option of a command that runs another.";
  return finding("unknown-option", reason, word);
}

/** Joins the words to one string, like `eval` and others. */
export function joined(words: readonly ShellWord[]): ShellWord | undefined {
  const [first] = words;
  if (first === undefined) return undefined;
  const text = words.map((word) => word.text).join(" ");
  // All words of one brace expansion have the raw text of the whole.
  const raws = words.filter((word, index) => word.raw !== words[index - 1]?.raw);
  const raw = raws.map((word) => word.raw).join(" ");
  return { ...first, text, raw, literal: words.every((word) => word.literal) };
}

/** Finds assignments among a command's words. */

const kAssignment = /^([A-Za-z_]\w*|BASH_FUNC_[^=]*)(?:\[[^\]]*\])?\+?=/;

/** Returns an assignment word as an effect. */
export function assignmentIn(word: ShellWord): Effect | undefined {
  const [found, name] = kAssignment.exec(word.text) ?? [];
  if (found === undefined || name === undefined) return undefined;
  return { kind: "variable", name, value: { ...word, text: word.text.slice(found.length) } };
}

/** Returns the effects of giving a script, a function or `set` these arguments. */
export function positional(words: readonly ShellWord[]): Effect[] {
  const [first] = words;
  if (first === undefined) return [];
  const text = words.map((word) => word.text).join(kElement);
  const all = { ...first, text, literal: words.every((word) => word.literal) };
  return [
    ...words.map((value, index): Effect => ({ kind: "variable", name: String(index + 1), value })),
    { kind: "variable", name: "@", value: all },
    { kind: "variable", name: "*", value: all },
  ];
}

/** Returns the finding of turning on history expansion, after which `!` and `^` mean other text. */
export function historyExpansion(word: ShellWord): Effect {
  const reason = "This makes the shell fill in text of earlier lines.";
  return finding("dynamic-code", reason, word);
}

/** Shells: a string given with -c is checked again, a program through a pipe is refused. */

const kDecoders =
  /^(?:base(?:64|32|nc)|b64decode|uudecode|xxd|openssl|gpg|gunzip|zcat|unxz|xzcat|bunzip2|bzcat|zstd|rev)$/;
const kInput = /^(?:-|\/dev\/stdin|\/dev\/fd\/\d+|\/proc\/(?:self|thread-self|\d+)\/fd\/\d+)$/;

/** True if a script's name denotes the standard input or a substitution's pipe. */
export function isInput(word: ShellWord): boolean {
  return kInput.test(word.text) || /^[<>]\(/.test(word.raw) || word.raw === "";
}

/** Returns the effect of a program that an interpreter takes from its input. */
export function fromInput({ upstream, words }: ShellCall, word: ShellWord): Effect {
  const decoded =
    upstream().some((name) => kDecoders.test(name)) || /base64|xxd|openssl/.test(word.raw);
  const [command] = words;
  const what = decoded ? "decodes data and runs it" : "runs what comes through a pipe";
  const reason = `This ${what}, which can't be read before.`;
  return {
    kind: "finding",
    rule: decoded ? "decoded-execution" : "pipe-to-shell",
    reason,
    word: command ?? word,
  };
}

/** Returns the input that a here-document or here-string gives a command; "file" if a file does. */
export function inputText({ redirects }: ShellCall): ShellWord | "file" | undefined {
  const last = redirects.findLast(({ operator }) => operator.startsWith("<"));
  if (last === undefined) return undefined;
  if (last.operator.startsWith("<<")) return last.target;
  return isInput(last.target) ? undefined : "file";
}

function fromStandardInput(call: ShellCall, word: ShellWord): Effect[] {
  const input = inputText(call);
  if (input === undefined) return [fromInput(call, word)];
  if (input !== "file") return [{ kind: "code", word: input }];
  const reason = "This shell runs a file that this check does not read.";
  return [{ kind: "finding", rule: "unread-script", reason, word }];
}

export const shellWrapper: CommandWrapper = (call) => {
  const { words } = call;
  const [command] = words;
  if (command === undefined) return [];
  // With -n alone the shell only reads the script and runs nothing.
  if (words[1]?.text === "-n" && words.slice(2).every(({ text }) => !/^[-+]/.test(text))) return [];
  const effects: Effect[] = [];
  let code = false;
  let input = false;
  let index = 1;
  for (; index < words.length; index++) {
    const word = words[index];
    const text = word?.text ?? "";
    if (word === undefined || text === "-" || text === "--") {
      index++;
      break;
    }
    if (!/^[-+]./.test(text)) break;
    if (/^--(?:rcfile|init-file)$/.test(text)) {
      const reason = "This shell runs a start-up file first.";
      effects.push({ kind: "finding", rule: "unread-script", reason, word });
      index++;
    } else if (/^--(?:version|help)$/.test(text)) {
      return effects;
    } else if (!text.startsWith("--")) {
      if (text.startsWith("-") && text.includes("c")) code = true;
      if (text.includes("s")) input = true;
      const option = words[index + 1]?.text === "histexpand" && /^-.*o/.test(text);
      if (option || /^-.*H/.test(text)) effects.push(historyExpansion(word));
      index += text.match(/[oO]/g)?.length ?? 0;
    }
  }
  const operand = words[index];
  if (code) {
    effects.push(...positional(words.slice(index + 2)));
    if (operand) effects.push({ kind: "code", word: operand });
  } else if (operand === undefined || input) {
    effects.push(...fromStandardInput(call, command));
  } else if (isInput(operand)) {
    effects.push(fromInput(call, operand));
  } else {
    const reason = operand.text.startsWith(kExpansion)
      ? "Which script this shell runs is only known as it runs."
      : "This shell runs a script that this check does not read.";
    if (!operand.literal)
      effects.push({ kind: "finding", rule: "unread-script", reason, word: operand });
  }
  return effects;
};
