/** git configuration that names commands: given by -c, by `git config` or when cloning. */

import type { Effect } from "../call.js";
import { partOf, type ShellWord } from "../script/word.js";

const kCommandKeys =
  /^(?:tar\..+\.command|hook\..+\.command|core\.(?:pager|editor|sshcommand|fsmonitor|gitproxy|askpass|alternaterefscommand)|pager\..+|diff\.(?:.+\.)?(?:command|textconv|external)|filter\..+\.(?:clean|smudge|process)|merge\..+\.driver|(?:diff|merge)tool\..+\.(?:cmd|path)|credential\.(?:.+\.)?helper|gpg\.(?:.+\.)?(?:program|defaultkeycommand)|sequence\.editor|uploadpack\.packobjectshook|remote\..+\.(?:uploadpack|receivepack|vcs)|(?:browser|man|guitool)\..+\.(?:cmd|path)|interactive\.difffilter|sendemail\.(?:smtpserver|tocmd|cccmd|sendmailcmd)|trailer\..+\.(?:command|cmd)|web\.browser|receive\.procreceiverefs|submodule\..+\.update|instaweb\.(?:httpd|browser)|imap\.tunnel|core\.hookspath|init\.templatedir|ssh\.variant)$/;
/** Their value is a file or rule through which git runs commands later. */
const kRefusedKeys =
  /^(?:core\.(?:hookspath|attributesfile|worktree)|init\.templatedir|include(?:if\..+)?\.path|protocol\.(?:ext\.)?allow|uploadpack\.packobjectshook|url\..*ext::.*)$/;
const kHarmless =
  /^(?:true|false|yes|no|on|off|cat|less|auto|always|never|\d*|\/dev\/null|store|cache|osxkeychain|manager|none|rebase|checkout|merge)$/;

function refusal(word: ShellWord): Effect[] {
  const reason = "This git setting makes git run commands that can't be read here.";
  return [{ kind: "finding", rule: "inline-code", reason, word }];
}

/** What setting `key` to `value` runs, now or later. */
export function gitSetting(key: string, value: ShellWord): Effect[] {
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

/** `key=value` as -c takes it. */
export function gitSettingWord(word: ShellWord): Effect[] {
  const equals = word.text.indexOf("=");
  if (equals < 0) return [];
  return gitSetting(word.text.slice(0, equals), partOf(word, word.text.slice(equals + 1)));
}
