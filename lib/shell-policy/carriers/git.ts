/** git: its global options are skipped, and what it runs for its subcommands is found. */

import type { Carrier, Effect, ShellCall } from "../call.js";
import { isLong, type OptionGrammar, readOptions } from "../options.js";
import { partOf, type ShellWord } from "../script/word.js";
import { joined } from "./effects.js";
import { gitSetting, gitSettingWord } from "./git-config.js";
import { type OptionReader, optionReader } from "./option-values.js";

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
const kCommandOptions: ReadonlyMap<string, OptionReader> = new Map(
  Object.entries({
    archive: ["exec"],
    clone: ["u", "upload-pack"],
    "credential-cache": ["exec"],
    daemon: ["access-hook"],
    difftool: ["x", "extcmd"],
    fetch: ["upload-pack"],
    "fetch-pack": ["upload-pack", "exec"],
    grep: ["O", "open-files-in-pager"],
    instaweb: ["b", "browser", "d", "httpd"],
    "ls-remote": ["upload-pack", "exec"],
    pull: ["upload-pack"],
    push: ["receive-pack", "exec"],
    rebase: ["x", "exec"],
    "send-email": ["smtp-server", "sendmail-cmd", "to-cmd", "cc-cmd", "header-cmd"],
    "send-pack": ["receive-pack", "exec"],
    shell: ["c"],
  }).map(([name, options]) => [name, optionReader(options)]),
);
const kConfig = optionReader(["c", "config"]);
const kTemplate = optionReader(["template"]);

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
  const commands = kCommandOptions.get(name)?.(words) ?? [];
  const effects = commands.map((word): Effect => ({ kind: "code", word }));
  if (name === "config") effects.push(...configured(words));
  if (name === "clone" || name === "init") {
    for (const value of kConfig(words)) {
      effects.push(...gitSettingWord(value));
    }
    for (const value of kTemplate(words)) {
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
  if (name === "for-each-repo") {
    const reason = "Which git command runs is only known as it runs.";
    if (first) effects.push({ kind: "finding", rule: "unread-script", reason, word: first });
  }
  if (name === "remote-ext" && words[2]) effects.push({ kind: "code", word: words[2] });
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
