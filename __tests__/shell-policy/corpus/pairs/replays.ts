// biome-ignore-all lint/suspicious/noTemplateCurlyInString: it is shell text.
/** Tables of the shell that make a name run another program, and lines that run again. */

import type { BlockPair } from "../case.js";

export const kReplayPairs: readonly BlockPair[] = [
  ["hash -p /sbin/reboot ls; ls", "hash -p /usr/bin/dir ls; ls"],
  ["hash -p/sbin/reboot ls; ls", "hash -p/usr/bin/dir ls; ls"],
  ["builtin hash -p /sbin/reboot ls; ls", "builtin hash -r; ls"],
  ["hash -l -p /sbin/reboot ls; ls", "hash -l; ls"],
  ["hash -p /tmp/x/reboot ls", "hash -t ls"],
  ["a=reb; b=oot; hash -p /sbin/$a$b ls; ls", "a=d; b=ir; hash -p /usr/bin/$a$b ls; ls"],
  ["BASH_CMDS[ls]=/sbin/reboot; ls", "BASH_CMDS[ls]=/usr/bin/dir; ls"],
  ["BASH_CMDS=([ls]=/sbin/reboot); ls", "BASH_CMDS=([ls]=/usr/bin/dir); ls"],
  ["BASH_CMDS+=([a]=/bin/ls [b]=/sbin/reboot); b", "BASH_CMDS+=([a]=/bin/ls [b]=/bin/dir); b"],
  ["declare 'BASH_CMDS[ls]=/sbin/reboot'; ls", "declare 'BASH_CMDS[ls]=/usr/bin/dir'; ls"],
  ["printf -v 'BASH_CMDS[ls]' /sbin/reboot; ls", "printf -v 'BASH_CMDS[ls]' /usr/bin/dir; ls"],
  ["read 'BASH_CMDS[ls]' <<< /sbin/reboot; ls", "read 'BASH_CMDS[ls]' <<< /usr/bin/dir; ls"],
  [
    "declare -n r=BASH_CMDS; r[ls]=/sbin/reboot; ls",
    "declare -n r=BASH_CMDS; r[ls]=/usr/bin/dir; ls",
  ],
  [
    "declare -n r='BASH_CMDS[ls]'; r=/sbin/reboot; ls",
    "declare -n r='BASH_CMDS[ls]'; r=/usr/bin/dir; ls",
  ],
  [
    "shopt -s expand_aliases\nBASH_ALIASES[ls]=reboot\nls",
    "shopt -s expand_aliases\nBASH_ALIASES[ll]='ls -l'\nll",
  ],
  ["history -s 'reboot'; fc -s", "history -s 'ls'; fc -l"],
  ["history -s reboot", "history -s make test"],
  ["history -s re boot; fc -s ' '=", "history -s re boot; fc -l"],
  ["set -o history\n: reboot\nfc -s ': '=", "set -o history\n: reboot\nfc -l"],
  ["set -o history\n: rebXoot\nfc -s ': rebXoot'=reboot", "set -o history\nls\nfc -ln -1"],
  ["set -o history; fc -e -", "set -o history; fc -l -5"],
  ["set -o history; fc -e true", "set +o history; ls"],
  ["history -r f; fc -s", "history -r f; history 5"],
  ["history -n f; fc -s", "history -w f"],
  ["HISTFILE=f; set -o history; fc -s", "HISTFILE=f; set -o history; fc -l"],
  ["fc -sl", "fc -lr"],
  ["fc -l -s", "fc -l 1 5"],
  ["fc -le -", "fc -nl"],
  ["command fc -s", "command fc -l"],
  ["ksh -c 'hist -s'", "ksh -c 'hist -l'"],
  ["set -o history -o histexpand\n: rebXoot\n^: rebX^reb", "set -o history\necho ^x\n: y"],
  ["set -H; echo !x", "set +H; echo !x"],
  ["bash -H -c 'echo x'", "bash +H -c 'echo x'"],
  ["bash -o histexpand -c ls", "bash -o pipefail -c ls"],
  ["shopt -so histexpand; echo x", "shopt -uo histexpand; echo x"],
];
