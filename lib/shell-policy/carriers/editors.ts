/** Programs with commands of their own among their options: vim, gdb, tmux. */

import type { Carrier, Effect, ShellCall } from "../call.js";
import { inlineCode } from "./effects.js";
import { optionReader } from "./option-values.js";
import { inputText } from "./shells.js";

const kVim =
  /!|\bsystem(?:list)?\s*\(|\bterm(?:inal)?\b|\bjobstart|\b(?:py3?|pyx?|python[3x]?|lua|luado|ruby|rubydo|perl|perldo|tcl|mz|mzscheme|source|so|make|grep|exe|execute|call)\b/;

const kVimCommands = optionReader(["c", "cmd"]);

export const vim: Carrier = ({ words }) => {
  const commands = kVimCommands(words);
  const plus = words.slice(1).filter(({ text }) => /^\+[^\d/]/.test(text));
  const bad = [...commands, ...plus].find(({ text, literal }) => !literal || kVim.test(text));
  return bad ? [inlineCode(bad)] : [];
};

const kGdb =
  /^\s*(?:!|shell\b|she\b|pipe\b|\||python|py\b|pi\b|guile|gu\b|call\b|source\b|so\b|compile\b|platform\s+shell|script\b|command\s+script|print\b.*system)/;

const kGdbCommands = optionReader(
  "-ex -iex eval-command init-eval-command ex iex o O one-line".split(" "),
);

export const gdb: Carrier = ({ words }) => {
  const bad = kGdbCommands(words).find(({ text, literal }) => !literal || kGdb.test(text));
  const at = words.findIndex(({ text }) => text === "--args");
  const effects: Effect[] = bad ? [inlineCode(bad)] : [];
  if (at > 0 && words[at + 1]) effects.push({ kind: "call", words: words.slice(at + 1) });
  return effects;
};

/** Terminal multiplexers take a command line as their last operands. */
export const tmux: Carrier = ({ words }) => {
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
export const at: Carrier = (call: ShellCall) => {
  const { words } = call;
  const [command] = words;
  const input = inputText(call);
  if (words.some(({ text }) => /^-[a-zA-Z]*[lrdcV]/.test(text)) || !command) return [];
  if (typeof input === "object") return [{ kind: "code", word: input }];
  const reason = "This runs the lines of its input later.";
  return [{ kind: "finding", rule: "pipe-to-shell", reason, word: command }];
};
