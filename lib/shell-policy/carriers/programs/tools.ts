/** Options, words and input of other programs that run commands or load code. */

import type { Program, ProgramTable } from "../program.js";

const kSshOption =
  /^(?:-o)?\s*(?:proxycommand|localcommand|knownhostscommand|pkcs11provider|securitykeyprovider|match\s+exec)[\s=]+(.+)$/is;
const kShellLine = /^[^\S\n]*!/m;

const kArchive: Program = {
  code: "I F to-command use-compress-program info-script new-volume-script rsh-command rmt-command".split(
    " ",
  ),
  bundle: "IFfbCTXgKVLN",
  assigns: /^(?:--checkpoint-action=)?exec=(.+)$/s,
};
const kVim: Program = {
  scripts: ["S", "u", "U", "-s", "-l", "-i"],
  input: /^[^\S\n:]*:*[^\S\n]*(?:!|terminal|source|so\b|lua|py|perl|ruby)/m,
};
const kGdb: Program = {
  scripts: ["-x", "command", "init-command", "-ix"],
};
const kPager: Program = { refused: /^\+{1,2}\d*[!|]|^-[a-zA-Z]*k|^--lesskey/ };
const kApt: Program = {
  refused:
    /(?:Pre|Post)-Invoke|Pre-Install-Pkgs|Dir::Bin|Proxy-Auto-Detect|Solver|Planner|::Pager/i,
  scripts: ["c", "config-file"],
};
const kSqlite: Program = {
  refused:
    /(?:^|\n)[^\S\n]*\.(?:shell|system|load)\b|(?:^|\n)[^\S\n]*\.(?:once|output|import|excel|read|open)\s+"?\||\bload_extension\s*\(|\b(?:edit|writefile)\s*\(/i,
  input:
    /(?:^|\n)[^\S\n]*\.(?:shell|system|load)\b|^[^\S\n]*\.(?:once|output|import|read)\s+"?\||load_extension/im,
  scripts: ["-init"],
};
const kPsql: Program = {
  refused: /\\!|\\(?:o|g|gx|w|setenv)\s+(?:\||PAGER|EDITOR|PSQL_)|\b(?:to|from)\s+program\b/i,
  input: /\\!|\\(?:o|g|gx|w)\s+\||\bprogram\s+'/i,
};
const kMysql: Program = {
  refused: /\\!|^[^\S\n]*system\s|--plugin-dir/im,
  input: /\\!|^[^\S\n]*(?:system|\\?P(?:ager)?)\s/im,
  code: ["pager"],
};
const kFtp: Program = { input: kShellLine, refused: /^!|;\s*!/ };
const kSecureCopy: Program = { code: ["S", "D"], assigns: kSshOption, input: kShellLine };

const names = (list: string, program: Program): [string, Program][] =>
  list.split(" ").map((name) => [name, program]);

export const kTools: ProgramTable = Object.fromEntries([
  ...names("tar gtar bsdtar", kArchive),
  ...names("vim vi view ex nvim vimdiff rvim gvim", kVim),
  ...names("less more most", kPager),
  ...names("apt apt-get aptitude apt-cache", kApt),
  ...names("sqlite3 sqlite", kSqlite),
  ...names("mysql mariadb", kMysql),
  ...names("ftp telnet lftp tftp", kFtp),
  ...names("gpg gpg2", {
    code: [
      "photo-viewer",
      "agent-program",
      "pinentry-program",
      "dirmngr-program",
      "keyserver-options",
    ],
  }),
  ["scp", { code: ["S"], assigns: kSshOption }],
  ["sftp", kSecureCopy],
  ["gdb", kGdb],
  ["bat", { code: ["pager"] }],
  ["ag", { code: ["pager"] }],
  ["rg", { code: ["pre", "hostname-bin"] }],
  ["man", { code: ["P", "H", "pager", "html"] }],
  ["cpio", { code: ["rsh-command"] }],
  ["rsync", { code: ["e", "rsh", "rsync-path"], assigns: /^-M--rsync-path=(.+)$/s }],
  ["parallel", { code: ["ssh", "rsync"] }],
  ["start-stop-daemon", { runs: "somewhere", code: ["x", "a", "exec", "startas"] }],
  ["nodemon", { runs: "somewhere", code: ["x", "exec"] }],
  ["sort", { code: ["compress-program"] }],
  ["split", { code: ["filter"] }],
  ["sdiff", { code: ["diff-program"] }],
  ["tcpdump", { code: ["z"] }],
  ["zip", { code: ["unzip-command", "-TT"], assigns: /^-TT(.+)$/s }],
  ["wget", { code: ["use-askpass"], assigns: /^use_askpass=(.+)$/s, scripts: ["config"] }],
  ["curl", { scripts: ["K", "config"], inline: ["engine"] }],
  ["ssh-keygen", { inline: ["D"] }],
  ["ssh-add", { inline: ["s"] }],
  ["emacs", { refused: /^--?(?:eval|execute|funcall|load|script|f|l)(?:=|$)/ }],
  ["emacsclient", { refused: /^(?:-[a-z]*e|--eval|--alternate-editor|-a)/ }],
  ["ed", { input: /^[^A-Za-z\n!]*(?:[rweEW][^\S\n]*)?!/m, refused: /^!/, pipe: true }],
  ["red", { input: /^[^A-Za-z\n!]*(?:[rweEW][^\S\n]*)?!/m, refused: /^!/, pipe: true }],
  ["psql", kPsql],
  ["redis-cli", { inline: ["eval"] }],
  ["mongosh", { inline: ["eval"] }],
  ["openssl", { refused: /^--?(?:engine|provider)|^engine$|SO_PATH/ }],
  ["dc", { refused: /!/, input: /!/ }],
  ["m4", { refused: /\b(?:esyscmd|syscmd|mkstemp)\b/, input: /\be?syscmd\b/ }],
  ["dpkg", { code: ["pre-invoke", "post-invoke", "status-logger", "admindir-hook"] }],
  ["rpm", { code: ["pipe"], refused: /%\(|%\{lua/ }],
  ["nmap", { scripts: ["script"], refused: /^--script=[./]/ }],
  [
    "hg",
    {
      refused:
        /^(?:--config=)?(?:alias\.\w+\s*=\s*!|hooks\.|extensions\.|ui\.(?:editor|ssh|merge)|pager\.)/,
    },
  ],
  ["svn", { code: ["editor-cmd", "diff-cmd", "diff3-cmd"], assigns: /-cmd=(.+)$/s }],
  ["fzf", { code: ["preview"], refused: /(?:execute|become|reload|preview|transform)(?:-\w+)?\(/ }],
  ["logrotate", { code: ["m", "mail"] }],
  ["mail", { refused: /~!/, input: /^~[!|r]/m }],
  ["gs", { refused: /%pipe%|-dNOSAFER/ }],
  ["convert", { refused: /^(?:msl|ephemeral|\|)|^\w+:\|/ }],
  ["ansible", { refused: /^(?:shell|command|raw|script)$/ }],
  [
    "hyperfine",
    {
      runs: "lines",
      values: "wmrpcSsDuN",
      code: ["p", "prepare", "c", "cleanup", "s", "setup", "S", "shell"],
    },
  ],
  ["concurrently", { runs: "lines", values: "ncpls", flags: "krg" }],
  ["mispipe", { runs: "lines" }],
  ["pee", { runs: "lines" }],
  ["crontab", { input: /\S/ }],
  [
    "java",
    { refused: /^-(?:agentpath|agentlib|javaagent)|^-XX:(?:OnOutOfMemoryError|OnError|Flags)|^@/ },
  ],
]);
