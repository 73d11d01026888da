/** Editors and other programs whose own commands can start a shell. */

import type { Carrier, Effect } from "../call.js";
import { isLong } from "../options.js";
import type { ShellWord } from "../word.js";
import { optionValues } from "./option-code.js";
import { inputText } from "./shells.js";

function inlineCode(word: ShellWord | undefined): Effect[] {
  if (word === undefined) return [];
  const reason = "This program's own commands start another.";
  return [{ kind: "finding", rule: "inline-code", reason, word }];
}

const kVim =
  /!|\bsystem(?:list)?\s*\(|\bterm(?:inal)?\b|\bjobstart|\b(?:py3?|pyx?|python[3x]?|lua|luado|ruby|rubydo|perl|perldo|tcl|mz|mzscheme|source|so|make|grep|exe|execute|call)\b/;

const vim: Carrier = (call) => {
  const { words } = call;
  const commands = optionValues(words, { letters: "cSsWw", long: ["cmd", "startuptime"] });
  const plus = words.slice(1).filter(({ text }) => /^\+[^\d/]/.test(text));
  const bad = [...commands, ...plus].find(({ text, literal }) => !literal || kVim.test(text));
  const input = inputText(call);
  if (bad) return inlineCode(bad);
  return typeof input === "object" && kVim.test(input.text) ? inlineCode(input) : [];
};

const emacs: Carrier = ({ words }) =>
  inlineCode(
    words.find(({ text }) => /^--?(?:eval|execute|funcall|load|script|f|l)(?:=|$)/.test(text)),
  );

/** ed runs `!command`, and reads from and writes to one. */
const kEd = /^[^A-Za-z\n!]*(?:[rweEW][^\S\n]*)?!/m;

const ed: Carrier = (call) => {
  const input = inputText(call);
  if (typeof input === "object")
    return kEd.test(input.text) || !input.literal ? inlineCode(input) : [];
  return call.upstream().length > 0 ? inlineCode(call.words[0]) : [];
};

const pager: Carrier = ({ words }) =>
  inlineCode(words.find(({ text }) => /^\+{1,2}\d*[!|]|^-[a-zA-Z]*k|^--lesskey/.test(text)));

const gdb: Carrier = ({ words }) => {
  const commands = optionValues(words, {
    long: ["eval-command", "init-eval-command", "ex", "iex"],
  });
  words.forEach(({ text }, index) => {
    const next = words[index + 1];
    if (/^-i?ex$/.test(text) && next) commands.push(next);
  });
  return inlineCode(
    commands.find(({ text }) =>
      /^\s*(?:!|shell\b|she\b|pipe\b|\||python|py\b|guile|call\b|print\b.*system)/.test(text),
    ),
  );
};

const kClient = /\\!|^\s*\.(?:shell|system)\b|\bsystem\s|\|\s?\.?once/i;

/** `COPY … TO PROGRAM` within one statement. */
function copiesToProgram(text: string): boolean {
  if (!/\bprogram\b/i.test(text)) return false;
  return text
    .split(";")
    .some(
      (statement) => /\bcopy\b/i.test(statement) && /\b(?:from|to)\s+program\b/i.test(statement),
    );
}

/** Database clients: `\!`, `.shell`, `COPY … FROM PROGRAM`. */
const client: Carrier = (call) => {
  const input = inputText(call);
  const texts = typeof input === "object" ? [...call.words.slice(1), input] : call.words.slice(1);
  return inlineCode(texts.find(({ text }) => kClient.test(text) || copiesToProgram(text)));
};

const kMakeVariable =
  /^(?:SHELL|\.SHELLFLAGS|MAKEFLAGS|GNUMAKEFLAGS)\s*[:?+]*=|^\w+\s*!=|\$[({]\s*(?:shell|eval)\b|`/;

const make: Carrier = (call) => {
  const { words } = call;
  const [program] = optionValues(words, { letters: "E", long: ["eval"] });
  if (program) return inlineCode(program);
  const variable = words.slice(1).find(({ text }) => kMakeVariable.test(text));
  if (variable) return inlineCode(variable);
  const [file] = optionValues(words, { letters: "f", long: ["file", "makefile"] });
  return file && /^(?:-|\/dev\/stdin)$/.test(file.text) ? inlineCode(file) : [];
};

/** Terminal multiplexers take a command line as their last operands. */
const tmux: Carrier = ({ words }) => {
  const index = words.findIndex(({ text }) =>
    /^(?:new|new-session|neww|new-window|splitw|split-window|run|run-shell|respawn-pane|respawnp|if|if-shell|popup|send|send-keys|pipe-pane|pipep)$/.test(
      text,
    ),
  );
  const last = words.at(-1);
  return index > 0 && last && words.length > index + 1 ? [{ kind: "code", word: last }] : [];
};

const openssl: Carrier = ({ words }) =>
  inlineCode(
    words.find(({ text }) => /^--?(?:engine|provider-path)/.test(text) || isLong(text, "engine")),
  );

export const kEscapes: Readonly<Record<string, Carrier>> = {
  vim,
  vi: vim,
  view: vim,
  ex: vim,
  nvim: vim,
  vimdiff: vim,
  rvim: vim,
  emacs,
  ed,
  red: ed,
  less: pager,
  more: pager,
  gdb,
  lldb: gdb,
  psql: client,
  mysql: client,
  sqlite3: client,
  make,
  gmake: make,
  tmux,
  openssl,
};
