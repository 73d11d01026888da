/** git: its global options are skipped, and what it runs for its subcommands is found. */

import type { Carrier, Effect, ShellCall } from "../call.js";
import { isLong, type OptionGrammar, readOptions } from "../options.js";
import { partOf, type ShellWord } from "../word.js";
import { joined } from "./builtins.js";
import { gitSetting, gitSettingWord } from "./git-config.js";
import { optionValues } from "./option-code.js";

const kGlobal: OptionGrammar = {
  values: "Cc",
  flags: "pPhv",
  longValues: ["git-dir", "work-tree", "namespace", "super-prefix", "config-env", "attr-source"],
  longFlags: [
    "exec-path",
    "html-path",
    "man-path",
    "info-path",
    "paginate",
    "no-pager",
    "no-replace-objects",
    "bare",
    "literal-pathspecs",
    "glob-pathspecs",
    "noglob-pathspecs",
    "icase-pathspecs",
    "no-optional-locks",
    "no-lazy-fetch",
    "no-advice",
    "version",
    "help",
    "list-cmds",
  ],
};

/** The subcommand and its arguments, without git's own options. */
export function gitWords({ words }: ShellCall): readonly ShellWord[] {
  return words.slice(readOptions(words, 1, kGlobal).end);
}

/** Options of a subcommand whose value is a command. */
const kCommandOptions: Readonly<Record<string, { letters?: string; long?: readonly string[] }>> = {
  archive: { long: ["exec"] },
  clone: { letters: "u", long: ["upload-pack"] },
  difftool: { letters: "x", long: ["extcmd"] },
  fetch: { long: ["upload-pack"] },
  "fetch-pack": { long: ["upload-pack", "exec"] },
  grep: { letters: "O", long: ["open-files-in-pager"] },
  "ls-remote": { long: ["upload-pack", "exec"] },
  pull: { long: ["upload-pack"] },
  push: { long: ["receive-pack", "exec"] },
  rebase: { letters: "x", long: ["exec"] },
  "send-email": { long: ["smtp-server", "sendmail-cmd", "to-cmd", "cc-cmd"] },
  "send-pack": { long: ["receive-pack", "exec"] },
};

function configured(words: readonly ShellWord[]): Effect[] {
  const rest = words.slice(1).filter(({ text }) => !/^(?:-|set$|get$)/.test(text));
  // Before the key there may be the value of --file or --blob.
  return rest.flatMap((key, index): Effect[] => {
    const value = rest[index + 1];
    return value && key.text.includes(".") ? gitSetting(key.text, value) : [];
  });
}

function subcommand(words: readonly ShellWord[]): Effect[] {
  const [first, second] = words;
  const name = first?.text ?? "";
  const effects: Effect[] = optionValues(words, kCommandOptions[name] ?? {}).map((word) => ({
    kind: "code",
    word,
  }));
  if (name === "config") effects.push(...configured(words));
  if (name === "clone" || name === "init") {
    for (const value of optionValues(words, { letters: "c", long: ["config"] })) {
      effects.push(...gitSettingWord(value));
    }
    for (const value of optionValues(words, { long: ["template"] })) {
      effects.push(...gitSetting("init.templatedir", value));
    }
  }
  const runs = name === "bisect" && second?.text === "run" ? words.slice(2) : [];
  if (runs.length > 0) effects.push({ kind: "call", words: runs });
  if (name === "submodule") {
    const at = words.findIndex(({ text }) => text === "foreach");
    const code = joined(
      words.slice(at + 1).filter(({ text }) => !/^(?:--recursive|-q|--quiet)$/.test(text)),
    );
    if (at > 0 && code) effects.push({ kind: "code", word: code });
  }
  for (const word of words) {
    const at = word.text.indexOf("ext::");
    if (at >= 0) effects.push({ kind: "code", word: partOf(word, word.text.slice(at + 5)) });
  }
  return effects;
}

export const git: Carrier = (call) => {
  const { options, end, unknown } = readOptions(call.words, 1, kGlobal);
  const effects: Effect[] = [];
  for (const { name, value, word } of options) {
    if (name === "c" && value) effects.push(...gitSettingWord(value));
    if (
      name === "config-env" ||
      (name === "exec-path" && isLong(word.text, "exec-path") && value)
    ) {
      const reason = "This git option makes git run commands that can't be read here.";
      effects.push({ kind: "finding", rule: "inline-code", reason, word });
    }
  }
  if (unknown) {
    const reason = "This check does not know this option of git.";
    effects.push({ kind: "finding", rule: "unknown-option", reason, word: unknown });
  }
  const words = call.words.slice(end);
  const [first] = words;
  if (first && !first.literal) {
    const reason = "Which git command runs is only known as it runs.";
    effects.push({ kind: "finding", rule: "unread-script", reason, word: first });
  }
  return [...effects, ...subcommand(words)];
};
