/** Shells handed to another host. */

import type { ShellCall } from "../call.js";
import { isLong, shortLetters } from "../options.js";
import type { ShellWord } from "../script/word.js";
import type { ShellRule } from "./rule.js";

/** bash opens a connection for these names. */
export const kNetworkFile = /\/dev\/(?:tcp|udp)\//;

const kPrograms = /^(?:.*:)?(?:exec|system|shell|forkpty|pty)\s*:/i;

function netcatProgram({ words }: ShellCall): ShellWord | undefined {
  return words.slice(1).find(({ text }) => {
    if (isLong(text, "exec") || isLong(text, "sh-exec", 4) || isLong(text, "lua-exec", 4))
      return true;
    return /^[^\d]*[ec]/.test(shortLetters(text));
  });
}

export const kReverseShell: readonly ShellRule[] = [
  {
    name: "reverse-shell",
    reason: "This hands a program to whoever is at the other end of a connection.",
    commands: ["nc", "ncat", "netcat", "nc.traditional", "nc.openbsd", "netkit-nc"],
    find: netcatProgram,
  },
  {
    name: "reverse-shell",
    reason: "This hands a program to whoever is at the other end of a connection.",
    commands: ["socat", "socat1"],
    find: ({ words }) => words.slice(1).find(({ text }) => kPrograms.test(text)),
  },
  {
    name: "reverse-shell",
    reason: "This gives a shell to whoever reads its output.",
    commands: ["sh", "bash", "dash", "ash", "zsh", "ksh"],
    find: ({ words, redirects, upstream }) => {
      const interactive = words.slice(1).find(({ text }) => /^-[a-zA-Z]*i[a-zA-Z]*$/.test(text));
      const connected =
        redirects.some(({ operator }) => /[<>]&/.test(operator)) || upstream().length > 0;
      return connected ? interactive : undefined;
    },
  },
];

/** Programs that talk to other hosts; with a named pipe they make a reverse shell. */
export const kNetworkPrograms: ReadonlySet<string> = new Set([
  "nc",
  "ncat",
  "netcat",
  "telnet",
  "socat",
  "openssl",
]);
