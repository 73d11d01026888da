/** Commands that run others for each item they find or read: find, xargs, parallel, watch, ssh. */

import type { CommandWrapper, Effect, ShellCall } from "../call.js";
import { type OptionGrammar, optionReader, readOptions } from "../options.js";
import { kExpansion, partOf, type ShellWord, unknownWord } from "../script/word.js";
import { inlineCode, inputText, joined } from "./effects.js";

/** Replaces `{}` in the word by its value. */
function filled(word: ShellWord, placeholder: string): ShellWord {
  if (placeholder === "" || !word.text.includes(placeholder)) return word;
  const text = word.text.replaceAll(placeholder, kExpansion);
  return { ...word, text, literal: false };
}

export const find: CommandWrapper = ({ words }) => {
  const effects: Effect[] = [];
  for (let index = 1; index < words.length; index++) {
    if (!/^-(?:exec|execdir|ok|okdir)$/.test(words[index]?.text ?? "")) continue;
    const start = index + 1;
    index = start;
    while (index < words.length) {
      const { text } = words[index] ?? { text: ";" };
      if (text === ";" || (text === "+" && words[index - 1]?.text === "{}")) break;
      index++;
    }
    const inner = words.slice(start, index).map((word) => filled(word, "{}"));
    if (inner.length > 0) effects.push({ kind: "call", words: inner });
  }
  return effects;
};

/** fd: all words after -x or -X, attached or not. */
export const fd: CommandWrapper = ({ words }) => {
  const index = words.findIndex(({ text }) => /^(?:-[a-zA-Z]*[xX]|--exec(?:-batch)?)/.test(text));
  const option = words[index];
  if (index < 1 || option === undefined) return [];
  const [, attached = ""] =
    /^(?:-[a-zA-Z]*?[xX]|--exec(?:-batch)?=?)(.*)$/s.exec(option.text) ?? [];
  const start = attached === "" ? [] : [partOf(option, attached)];
  const inner = [...start, ...words.slice(index + 1)].map((word) => filled(word, "{}"));
  return inner.length > 0 ? [{ kind: "call", words: inner }] : [];
};

const kXargs: OptionGrammar = {
  values: "aEILnPsdR",
  attached: "iel",
  flags: "0oprtxJ",
  longValues: [
    "arg-file",
    "delimiter",
    "max-lines",
    "max-args",
    "max-procs",
    "max-chars",
    "process-slot-var",
  ],
  longFlags: [
    "null",
    "eof",
    "replace",
    "interactive",
    "no-run-if-empty",
    "verbose",
    "exit",
    "open-tty",
    "show-limits",
  ],
};

export const xargs: CommandWrapper = ({ words, piped }) => {
  const { options, end, unknown } = readOptions(words, 1, kXargs);
  const effects: Effect[] = [];
  if (unknown) {
    const reason = "This check does not know this option of a command that runs another.";
    effects.push({ kind: "finding", rule: "unknown-option", reason, word: unknown });
  }
  const replaces = options.find(({ name }) => /^(?:I|i|replace)$/.test(name));
  const placeholder = replaces?.value?.text || "{}";
  const inner = words.slice(end).map((word) => (replaces ? filled(word, placeholder) : word));
  // Without a command, it runs echo.
  if (inner.length === 0) return effects;
  const inputs = piped().flatMap((word) =>
    word.text.split(/\s+/).flatMap((text) => (text === "" ? [] : [partOf(word, text)])),
  );
  effects.push({ kind: "call", words: [...inner, unknownWord(inner[0]?.position)] });
  if (inputs.length > 0) effects.push({ kind: "call", words: [...inner, ...inputs] });
  return effects;
};

const kParallel: OptionGrammar = {
  values: "jaNnLIsCSPD",
  flags: "0kmXvutq",
  longValues: [
    "jobs",
    "arg-file",
    "colsep",
    "delay",
    "joblog",
    "results",
    "tmpdir",
    "timeout",
    "retries",
    "max-args",
    "halt",
    "sshlogin",
    "load",
    "memfree",
    "workdir",
    "tagstring",
  ],
  longFlags: [
    "keep-order",
    "null",
    "verbose",
    "dry-run",
    "bar",
    "eta",
    "progress",
    "tag",
    "line-buffer",
    "ungroup",
    "quote",
    "will-cite",
    "no-run-if-empty",
    "pipe",
    "xargs",
  ],
};
const kPlaceholder = /\{[^{}\s]*\}/g;

const kMostInputs = 64;

function filledTemplate(template: ShellWord, input: ShellWord | undefined): ShellWord {
  const value = input?.literal ? `'${input.text.replaceAll("'", "'\\''")}'` : "$_";
  const text = template.text.replaceAll(kPlaceholder, () => value);
  return partOf(template, text === template.text ? `${text} ${value}` : text);
}

export const parallel: CommandWrapper = ({ words }) => {
  const { end } = readOptions(words, 1, kParallel);
  const rest = words.slice(end);
  const colons = rest.findIndex(({ text }) => /^::::?\+?$/.test(text));
  const template = joined(colons < 0 ? rest : rest.slice(0, colons));
  const inputs = colons < 0 || rest[colons]?.text.startsWith("::::") ? [] : rest.slice(colons + 1);
  if (template !== undefined) {
    // A shell reads the template with its placeholders filled in.
    const texts = inputs.length === 0 ? [undefined] : inputs.slice(0, kMostInputs);
    return texts.map((input) => ({ kind: "code", word: filledTemplate(template, input) }));
  }
  if (inputs.length > 0) return inputs.map((word) => ({ kind: "code", word }));
  const [word] = words;
  const reason = "This runs the lines of its input as commands.";
  return word ? [{ kind: "finding", rule: "pipe-to-shell", reason, word }] : [];
};

const kWatch: OptionGrammar = {
  values: "nq",
  attached: "d",
  flags: "bcegptxwrC",
  longValues: ["interval", "equexit"],
  longFlags: [
    "beep",
    "color",
    "differences",
    "errexit",
    "chgexit",
    "precise",
    "no-title",
    "exec",
    "no-wrap",
  ],
};

export const watch: CommandWrapper = ({ words }) => {
  const code = joined(words.slice(readOptions(words, 1, kWatch).end));
  return code ? [{ kind: "code", word: code }] : [];
};

const kSsh: OptionGrammar = { values: "BbcDEeFIiJLlmOopQRSWw", flags: "46AaCfGgKkMNnqsTtVvXxYy" };

/** Commands for the remote host are checked as if they ran here. */
export const ssh: CommandWrapper = (call) => {
  const { words } = call;
  const { options, end } = readOptions(words, 1, kSsh);
  const effects = options.flatMap(({ name, value }): Effect[] => sshOption(name, value));
  // Options may also follow the host.
  const after = readOptions(words, end + 1, kSsh);
  effects.push(...after.options.flatMap(({ name, value }) => sshOption(name, value)));
  const code = joined(words.slice(after.end));
  const input = inputText(call);
  if (code?.literal) effects.push({ kind: "code", word: code });
  else if (code) {
    const reason = "What runs on the other host is only known as it runs.";
    effects.push({ kind: "finding", rule: "unread-script", reason, word: code });
  } else if (typeof input === "object") effects.push({ kind: "code", word: input });
  return effects;
};

const kSshCommand =
  /^\s*(?:proxycommand|localcommand|knownhostscommand|pkcs11provider|securitykeyprovider|match\s*[\s=]\s*exec)\s*[\s=]\s*/i;

/** Returns the effects of `-o ProxyCommand=…` and similar options of ssh, scp and sftp. */
function sshOption(name: string, value: ShellWord | undefined): Effect[] {
  if (name !== "o" || value === undefined) return [];
  const [found] = kSshCommand.exec(value.text) ?? [];
  if (found === undefined) return [];
  return [{ kind: "code", word: partOf(value, value.text.slice(found.length)) }];
}

/** Programs whose options contain commands of their own: gdb, tmux. */

const kGdb =
  /^\s*(?:!|shell\b|she\b|pipe\b|\||python|py\b|pi\b|guile|gu\b|call\b|source\b|so\b|compile\b|platform\s+shell|script\b|command\s+script|print\b.*system)/;

const kGdbCommands = optionReader(
  "-ex -iex eval-command init-eval-command ex iex o O one-line".split(" "),
);

export const gdb: CommandWrapper = ({ words }) => {
  const bad = kGdbCommands(words).find(({ text, literal }) => !literal || kGdb.test(text));
  const at = words.findIndex(({ text }) => text === "--args");
  const effects: Effect[] = bad ? [inlineCode(bad)] : [];
  if (at > 0 && words[at + 1]) effects.push({ kind: "call", words: words.slice(at + 1) });
  return effects;
};

/** Terminal multiplexers take a command line as their last operands. */
export const tmux: CommandWrapper = ({ words }) => {
  const index = words.findIndex(({ text }) =>
    /^(?:new|new-session|neww|new-window|splitw|split-window|run|run-shell|respawn-pane|respawnp|respawn-window|respawnw|if|if-shell|popup|display-popup|send|send-keys|pipe-pane|pipep|bind|bind-key|set-hook|confirm|confirm-before|command-prompt)$/.test(
      text,
    ),
  );
  const last = words.at(-1);
  if (index < 1 || !last || words.length <= index + 1) return [];
  const quiet = words.slice(index + 1).every(({ text }, at, all) => {
    return text.startsWith("-") || /^-[a-zA-Z]*[tcnsxyF]$/.test(all[at - 1]?.text ?? "");
  });
  if (quiet) return [];
  return [
    { kind: "perhaps", words: words.slice(index + 1), certain: false },
    { kind: "code", word: last },
  ];
};

/** at and batch read the commands to run from their input. */
export const at: CommandWrapper = (call: ShellCall) => {
  const { words } = call;
  const [command] = words;
  const input = inputText(call);
  if (words.some(({ text }) => /^-[a-zA-Z]*[lrdcV]/.test(text)) || !command) return [];
  if (typeof input === "object") return [{ kind: "code", word: input }];
  const reason = "This runs the lines of its input later.";
  return [{ kind: "finding", rule: "pipe-to-shell", reason, word: command }];
};
