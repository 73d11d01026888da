/** The commands that run more than their command word. */

import type { CommandWrapper } from "../call.js";
import { basename } from "../path.js";
import { awk } from "./awk.js";
import { kBuiltins } from "./builtins.js";
import { shellWrapper } from "./effects.js";
import { git } from "./git.js";
import { interpreterWrapper } from "./interpreters.js";
import { kWrappers } from "./operand-programs.js";
import { kBuilders, kLaunchers, kRunners, kTools } from "./other-programs.js";
import { type Program, programWrapper } from "./program.js";
import { sed } from "./sed.js";
import { at, fd, find, gdb, parallel, ssh, tmux, watch, xargs } from "./special-programs.js";
import { kVimNames, vim } from "./vim.js";

const kTable: readonly (readonly [string, Program])[] = [
  ...Object.entries(kLaunchers),
  ...Object.entries(kWrappers),
  ...Object.entries(kRunners),
  ...Object.entries(kBuilders),
  ...Object.entries(kTools),
];

/** Programs that the table alone can't describe; their entries apply too. */
const kSpecial: readonly (readonly [string, CommandWrapper])[] = [
  ["awk gawk mawk nawk original-awk", awk],
  ["sed gsed", sed],
  ["git", git],
  ["find gfind", find],
  ["fd fdfind", fd],
  ["xargs gxargs", xargs],
  ["parallel", parallel],
  ["watch", watch],
  ["ssh", ssh],
  [kVimNames, vim],
  ["gdb lldb", gdb],
  ["tmux", tmux],
  ["at batch", at],
  ["sh bash dash ash zsh ksh ksh93 mksh rbash hush yash fish csh tcsh", shellWrapper],
].flatMap(([names, wrapper]) =>
  String(names)
    .split(" ")
    .map((name): [string, CommandWrapper] => [name, wrapper as CommandWrapper]),
);

const kCommandWrappers = new Map<string, CommandWrapper>(Object.entries(kBuiltins));

/** Adds to an existing command wrapper. */
function add(name: string, wrapper: CommandWrapper): void {
  const own = kCommandWrappers.get(name) ?? interpreterWrapper(name);
  kCommandWrappers.set(name, own ? (call) => [...wrapper(call), ...own(call)] : wrapper);
}

for (const [name, program] of kTable) add(name, programWrapper(program));
for (const [name, wrapper] of kSpecial) add(name, wrapper);

const kLoader = /^ld(?:-linux[\w-]*|-musl-\w+)?\.so(?:\.\d+)?$/;
const loader = programWrapper({
  runs: "command",
  longValues: ["library-path", "preload", "audit", "argv0", "inhibit-rpath"],
  longFlags: ["list", "verify", "inhibit-cache"],
});

export function commandWrapperOf(name: string): CommandWrapper | undefined {
  if (kInert.has(name)) return kCommandWrappers.get(name);
  return (
    kCommandWrappers.get(name) ??
    (kLoader.test(basename(name)) ? loader : undefined) ??
    interpreterWrapper(name)
  );
}

/** True if the program is known to run nothing that its words name. */
export function isInert(name: string): boolean {
  return kInert.has(name);
}

/** Programs and builtins that run nothing that their words name. */

const kNames = `
  [ alias apropos arch b2sum base32 base64 basename bc break bzcat bzip2 cal cat cd chattr chgrp chmod
  chown cksum clear cmp col column comm continue cp csplit cut date dd df diff diff3 dig dir dirname dirs
  dmesg dos2unix du echo egrep exit expand expr factor fallocate false fgrep file fmt fold free fsck
  fuser getconf getent getfacl groups grep gunzip gzip head help history host hostname hostnamectl
  iconv id ifconfig info install ip6tables iptables jobs join journalctl jq kill killall last
  lastlog ldconfig ldd link ln locale localectl locate logger login logname look ls lsattr lsblk
  lscpu lsmod lsof lspci lsusb lz4 lzma md5sum mesg mkdir mkfifo mknod mktemp modinfo mount mountpoint
  mv netstat nl nproc nslookup numfmt od oldpwd paste patch pathchk pgrep pidof ping pinky pkill pmap popd
  pr printenv printf ps pstree ptx pushd pwd pwdx readelf readlink realpath rename renice return rev
  rg rm rmdir route seq service set sha1sum sha224sum sha256sum sha384sum sha512sum shift shred
  shuf size sleep ss stat strings strip stty sum swapon sync sysctl systemctl tac tail tee test times
  timedatectl top touch tput tr tracepath traceroute tree true truncate tsort tty type ulimit umask umount
  unalias uname unexpand uniq unix2dos unlink unset unxz unzip unzstd uptime users uuidgen vdir vmstat
  w wait wc wget whereis which who whoami whois write xz xzcat yes zcat zdiff zgrep zip zipinfo zless zstd
  actionlint ansible-lint apk aws az babel biome black brew bundler cabal ccmake clang-format clang-tidy
  cloc composer cspell ctags ctest cypress depcheck deptry doxygen editorconfig-checker elm esbuild eslint
  ffmpeg ffprobe flake8 flow gcloud gcov gem gh gitleaks gofmt golangci-lint goimports gradle gradlew
  graphviz hadolint helm identify isort jest jscpd jshint kind ktlint lcov less2css lint-staged
  magick markdownlint mdbook meson mocha mvn mypy nano npm-check-updates nyc osv-scanner oxlint pandoc php-cs-fixer
  phpstan phpunit pip pip3 playwright pod prettier protoc psalm pulumi pycodestyle pydocstyle pyflakes
  pylint pyright pytest pytype redis-server rake rollup rspec rubocop ruff rustfmt sbt scons semgrep shellcheck
  shfmt snyk sphinx-build sqlfluff standard stylelint swc swift swiftlint terraform tflint tofu tokei tox-ini
  trivy ts-prune tsc tsup typedoc unittest vercel vite vitest vue-tsc wasm-pack webpack wrangler
  xmllint yamllint yapf yq zig pre-commit dpkg-query apt-mark dnf yum pacman zypper snap
  update-alternatives useradd usermod adduser passwd chpasswd exiftool identify montage optipng pngquant
  bats shunit2 wrk ab siege k6 vegeta nc ncat netcat socat ping6 arping fdisk parted mkfs lsns findmnt blkid
  inotifywait ts vidir sponge combine errno isutf8 : local
`;

const kInert: ReadonlySet<string> = new Set(kNames.trim().split(/\s+/));
