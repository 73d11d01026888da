/** git: skips its global options, and finds the commands that it runs for its subcommands. */

import type { CommandWrapper, Effect, ShellCall } from "../call.js";
import {
  isLong,
  type OptionGrammar,
  type OptionReader,
  optionReader,
  readOptions,
} from "../options.js";
import { partOf, type ShellWord } from "../script/word.js";
import { joined } from "./effects.js";

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

/** Returns the subcommand and its arguments, without git's own options. */
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
  // The value of --file or --blob may precede the key.
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

export const git: CommandWrapper = (call) => {
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

/** git configuration that names commands: given by -c, by `git config` or when cloning. */

const kCommandKeys =
  /^(?:tar\..+\.command|hook\..+\.command|core\.(?:pager|editor|sshcommand|fsmonitor|gitproxy|askpass|alternaterefscommand)|pager\..+|diff\.(?:.+\.)?(?:command|textconv|external)|filter\..+\.(?:clean|smudge|process)|merge\..+\.driver|(?:diff|merge)tool\..+\.(?:cmd|path)|credential\.(?:.+\.)?helper|gpg\.(?:.+\.)?(?:program|defaultkeycommand)|sequence\.editor|uploadpack\.packobjectshook|remote\..+\.(?:uploadpack|receivepack|vcs)|(?:browser|man|guitool)\..+\.(?:cmd|path)|interactive\.difffilter|sendemail\.(?:smtpserver|tocmd|cccmd|sendmailcmd)|trailer\..+\.(?:command|cmd)|web\.browser|receive\.procreceiverefs|submodule\..+\.update|instaweb\.(?:httpd|browser)|imap\.tunnel|core\.hookspath|init\.templatedir|ssh\.variant)$/;
/** Keys whose value is a file or rule through which git later runs commands. */
const kRefusedKeys =
  /^(?:core\.(?:hookspath|attributesfile|worktree)|init\.templatedir|include(?:if\..+)?\.path|protocol\.(?:ext\.)?allow|uploadpack\.packobjectshook|url\..*ext::.*)$/;
const kHarmless =
  /^(?:true|false|yes|no|on|off|cat|less|auto|always|never|\d*|\/dev\/null|store|cache|osxkeychain|manager|none|rebase|checkout|merge)$/;

function refusal(word: ShellWord): Effect[] {
  const reason = "This git setting makes git run commands that can't be read here.";
  return [{ kind: "finding", rule: "inline-code", reason, word }];
}

/** Returns the effects of setting `key` to `value`, now or later. */
function gitSetting(key: string, value: ShellWord): Effect[] {
  const name = key.toLowerCase();
  if (kRefusedKeys.test(name)) return value.text === "/dev/null" ? [] : refusal(value);
  if (name.startsWith("alias.")) {
    if (value.text.startsWith("!"))
      return [{ kind: "code", word: partOf(value, value.text.slice(1)) }];
    return value.literal
      ? [{ kind: "code", word: partOf(value, `git ${value.text}`) }]
      : [{ kind: "code", word: value }];
  }
  if (!kCommandKeys.test(name) || kHarmless.test(value.text)) return [];
  if (name.startsWith("submodule.") && !value.text.startsWith("!")) return [];
  return [{ kind: "code", word: partOf(value, value.text.replace(/^!/, "")) }];
}

/** Reads `key=value` in the form that -c takes. */
function gitSettingWord(word: ShellWord): Effect[] {
  const equals = word.text.indexOf("=");
  if (equals < 0) return [];
  return gitSetting(word.text.slice(0, equals), partOf(word, word.text.slice(equals + 1)));
}
