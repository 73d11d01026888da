/** Programs that start others, with too many options to list. */

import type { Program, ProgramTable } from "./program.js";
import { kVimNames } from "./vim.js";

/** Their operands, if any, are a command. */
const kWrapped =
  "bwrap chpst cgexec entr firejail minijail nsjail numactl proxychains proxychains4 qemu-x86_64 " +
  "run0 setuidgid softlimit systemd-cat systemd-inhibit tcpserver valgrind watchexec wine xterm";

/** Their operands may be a command, or a subcommand that runs one. */
const kSomewhere =
  "arch asdf bpftrace capsh corepack direnv distrobox docker dotenv dotenvx dotnet dtach flatpak " +
  "fnm guix hatch incus ip kubectl lerna lxc mise nerdctl nix nix-shell nvm nx pdm perf podman " +
  "pyenv rbenv rr runsv rustup screen sem ssh-agent supervise toolbox tox turbo volta xcrun";

function each(names: string, program: Program): [string, Program][] {
  return names.split(" ").map((name) => [name, program]);
}

export const kLaunchers: ProgramTable = Object.fromEntries([
  ...each(kWrapped, { runs: "wrapped" }),
  ...each(kSomewhere, { runs: "somewhere" }),
]);

/** Package managers that run a command in the operands of a subcommand. */

const kNpmOptions: Program = {
  values: "pcwC",
  flags: "ysqdgDESBO",
  longValues:
    "package call workspace prefix registry userconfig cache loglevel tag omit include otp".split(
      " ",
    ),
  longFlags: (
    "yes no no-install quiet silent workspaces ignore-existing offline prefer-offline " +
    "if-present verbose"
  ).split(" "),
};
const kNpmExec: Program = { ...kNpmOptions, runs: "command", code: ["c", "call"] };
/** Settings of npm that name a program. */
const kNpm: Program = {
  ...kNpmOptions,
  code: ["script-shell", "editor", "git", "viewer", "shell", "browser"],
  inline: ["node-options", "script-shell", "globalconfig", "init-module"],
};
const kConfig: Program = {
  refused: /^(?:script-shell|editor|git|viewer|shell|browser|node-options|init-module)(?:=|$)/,
};
const kSet: ProgramTable = {
  set: kConfig,
  config: { subcommands: { set: kConfig } },
  c: { subcommands: { set: kConfig } },
};

export const kRunners: ProgramTable = {
  npx: kNpmExec,
  pnpx: kNpmExec,
  bunx: { ...kNpmExec, code: [], longFlags: ["bun", "silent", "verbose"] },
  bun: { subcommands: { x: { ...kNpmExec, code: [], longFlags: ["bun", "silent"] } } },
  npm: { ...kNpm, subcommands: { exec: kNpmExec, x: kNpmExec, ...kSet } },
  pnpm: {
    ...kNpm,
    flags: "rswc",
    values: "CF",
    longValues: ["dir", "filter", "package"],
    longFlags: ["recursive", "silent", "parallel", "shell-mode"],
    subcommands: {
      exec: { ...kNpmOptions, runs: "command", flags: "rc" },
      dlx: { ...kNpmOptions, runs: "command" },
      ...kSet,
    },
  },
  yarn: {
    flags: "sq",
    longValues: ["cwd", "package"],
    inline: ["script-shell", "use-yarnrc"],
    subcommands: {
      exec: { runs: "command" },
      dlx: { runs: "command", values: "p", flags: "q", longValues: ["package"] },
    },
  },
  uv: {
    values: "pC",
    longValues: ["python", "directory", "project"],
    flags: "qvn",
    subcommands: {
      run: {
        runs: "command",
        values: "pC",
        longValues:
          "python with directory project extra group env-file package with-requirements index-url".split(
            " ",
          ),
        longFlags: "frozen locked isolated no-sync quiet no-project all-extras dev no-dev".split(
          " ",
        ),
        flags: "qvnm",
        idle: ["m"],
      },
    },
  },
  uvx: { runs: "command", values: "p", longValues: ["from", "with", "python"], flags: "qvn" },
  poetry: {
    flags: "qvn",
    values: "CP",
    longValues: ["directory", "project"],
    subcommands: { run: { runs: "command" } },
  },
  pipenv: { flags: "qv", subcommands: { run: { runs: "command" } } },
  pipx: {
    subcommands: { run: { runs: "command", longValues: ["spec", "python"], flags: "qv" } },
  },
  bundle: {
    longValues: ["gemfile"],
    subcommands: {
      exec: { runs: "command", longValues: ["gemfile"], longFlags: ["keep-file-descriptors"] },
    },
  },
  conda: {
    subcommands: {
      run: {
        runs: "command",
        values: "np",
        longValues: ["name", "prefix", "cwd"],
        longFlags: ["no-capture-output", "live-stream"],
      },
    },
  },
};

/** Compilers and build tools: options that name another program, or load a plugin. */

const kCompiler: Program = {
  refused:
    /^(?:--?wrapper|-B.|-fplugin|--?specs=|@.|-load$|-fpass-plugin=|-fuse-ld=.*\/|--ld-path=|--?plugin\b|-W[lap],.*-plugin|-iplugindir)/,
};
const kLinker: Program = { refused: /^(?:--?plugin\b|@.|-dynamic-linker=\.)/ };
const kLatex: Program = {
  refused: /^--?(?:enable-)?(?:shell-escape|write18)|\\(?:immediate|write18|input\|)/,
};

const kGo: Program = { code: ["-toolexec", "-exec", "-vettool", "--toolexec", "--exec"] };
const kCargo: Program = {
  refused:
    /(?:runner|linker|rustc|rustdoc|wrapper|credential-provider|credential-process)["']?\s*=/,
};
const kRust: Program = { refused: /^(?:-C)?\s*(?:linker|link-args?)=|^@.|^-Zcodegen-backend/ };

const kMake: Program = {
  inline: ["E", "eval"],
  refused:
    /^(?:\.SHELLFLAGS|MAKEFLAGS|GNUMAKEFLAGS)\s*[:?+]*=|^SHELL\s*[:?+]*=(?!(?:(?:\/usr)?\/bin\/)?(?:ba|da)?sh$)|^\w+\s*!=|\$[({]\s*(?:shell|eval)\b|`/,
  inputs: ["f", "file", "makefile"],
  assigns: /^(?:CC|CXX|CPP|LD|AR|AS|NM|RANLIB|FC|YACC|LEX|RUSTC|\w+_LAUNCHER)\s*[:?+]*=(.+)$/s,
};

const names = (list: string, program: Program): [string, Program][] =>
  list.split(" ").map((name) => [name, program]);

export const kBuilders: ProgramTable = Object.fromEntries([
  ...names("gcc g++ cc c++ clang clang++ cpp gfortran c99 c89 tcc", kCompiler),
  ...names("ld ld.bfd ld.gold ld.lld lld ar nm ranlib objdump gcc-ar gcc-nm", kLinker),
  ...names("make gmake bmake remake", kMake),
  ...names("latex pdflatex xelatex lualatex tex pdftex latexmk", kLatex),
  ["go", { ...kGo, refused: /^(?:GOFLAGS|CC|CXX)=/ }],
  ["cargo", { ...kCargo, subcommands: { rustc: kRust } }],
  ["rustc", kRust],
  ["ninja", { inputs: ["f"] }],
  [
    "cmake",
    {
      runs: "somewhere",
      assigns:
        /^-D\w*(?:_LAUNCHER|_COMPILER|_LINKER|_COMMAND|_PROGRAM|_EXECUTABLE)(?::\w+)?=(.+)$/s,
      refused: /^-D(?:CMAKE_TOOLCHAIN_FILE|CMAKE_PROJECT_\w*INCLUDE\w*)(?::\w+)?=\/(?:tmp|dev)\//,
    },
  ],
]);

/** Options, words and input of other programs that run commands or load code. */

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
  inputs: ["S", "u", "U", "-s", "-l"],
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

export const kTools: ProgramTable = Object.fromEntries([
  ...names("tar gtar bsdtar", kArchive),
  ...names(kVimNames, kVim),
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
