/** Programs that run the command in their operands, with all of their options. */

import type { Program, ProgramTable } from "../program.js";

const kOperands: ProgramTable = {
  builtin: {},
  busybox: {
    idle: ["list", "list-full", "install", "help"],
    longFlags: ["list", "list-full", "install", "help"],
  },
  toybox: { longFlags: ["long", "help"] },
  catchsegv: {},
  choom: { values: "np", longValues: ["adjust", "pid"], idle: ["p", "pid"] },
  chronic: { flags: "ev" },
  chroot: { operands: 1, longValues: ["userspec", "groups"], longFlags: ["skip-chdir"] },
  chrt: { operands: 1, values: "TPDp", flags: "abdfimorRGv", idle: ["p", "m"] },
  command: { flags: "pvV", idle: ["v", "V"] },
  doas: { values: "uCa", flags: "nsL", shell: ["s"], idle: ["C", "L"] },
  "dbus-run-session": { longValues: ["config-file", "dbus-daemon"] },
  env: {
    values: "uCaS",
    flags: "i0v",
    longValues: ["unset", "chdir", "argv0", "split-string"],
    longFlags: [
      "ignore-environment",
      "null",
      "debug",
      "block-signal",
      "default-signal",
      "ignore-signal",
      "list-signal-handling",
    ],
    assignments: true,
    code: ["S", "split-string"],
  },
  exec: { values: "a", flags: "cl" },
  fakeroot: {
    values: "lsib",
    flags: "u",
    longValues: ["lib", "faked"],
    longFlags: ["unknown-is-real"],
  },
  flock: {
    operands: 1,
    values: "wEc",
    flags: "sxuneoFv",
    longValues: ["timeout", "wait", "conflict-exit-code", "command"],
    longFlags: ["shared", "exclusive", "unlock", "nonblock", "nb", "close", "no-fork", "verbose"],
    code: ["c", "command"],
  },
  ionice: {
    values: "cnpPu",
    flags: "t",
    longValues: ["class", "classdata", "pid"],
    longFlags: ["ignore"],
    idle: ["p", "P", "u", "pid"],
  },
  ltrace: { values: "aADeFlnopsuwX", flags: "bcCfhiLrStTV" },
  nice: { values: "n", longValues: ["adjustment"], numbers: true },
  nohup: {},
  nsenter: {
    values: "tSG",
    attached: "mupinCrwUT",
    flags: "aFZ",
    longValues: ["target", "setuid", "setgid"],
    longFlags: [
      "all",
      "mount",
      "uts",
      "ipc",
      "net",
      "pid",
      "cgroup",
      "user",
      "root",
      "wd",
      "no-fork",
      "preserve-credentials",
    ],
  },
  prlimit: {
    values: "po",
    attached: "cdefilmnqrstuvxy",
    longValues: ["pid", "output"],
    longFlags: (
      "core data nice fsize sigpending memlock rss nofile msgqueue rtprio rttime stack cpu nproc " +
      "as locks noheadings raw verbose"
    ).split(" "),
    idle: ["p", "pid"],
  },
  proot: { values: "rbqwkv", flags: "0SRi" },
  rlwrap: { flags: "aAcDnoRr" },
  script: {
    permuted: true,
    values: "cEIOBTmo",
    flags: "aefqt",
    longValues: [
      "command",
      "echo",
      "log-in",
      "log-out",
      "log-io",
      "log-timing",
      "logging-format",
      "output-limit",
    ],
    longFlags: ["append", "return", "flush", "force", "quiet", "timing"],
    code: ["c", "command"],
  },
  setpriv: {
    longValues: [
      "reuid",
      "regid",
      "groups",
      "inh-caps",
      "ambient-caps",
      "bounding-set",
      "securebits",
      "pdeathsig",
      "selinux-label",
      "apparmor-profile",
    ],
    longFlags:
      "clear-groups keep-groups init-groups no-new-privs reset-env nnp dump list-caps".split(" "),
    flags: "d",
  },
  setsid: { flags: "cfw", longFlags: ["ctty", "fork", "wait"] },
  stdbuf: { values: "ioe", longValues: ["input", "output", "error"] },
  strace: {
    values: "eoPpsSuEaObIUX",
    flags: "cCdDfFhikknNqrtTvVwxyYzZ",
    longFlags: ["follow-forks", "quiet", "summary-only", "output-separately"],
    idle: ["p"],
  },
  su: {
    permuted: true,
    values: "cCgGswT",
    flags: "lmpfP",
    longValues: [
      "command",
      "session-command",
      "group",
      "supp-group",
      "shell",
      "whitelist-environment",
    ],
    longFlags: ["login", "fast", "preserve-environment", "pty"],
    code: ["c", "C", "command", "session-command", "s", "shell"],
    shell: [""],
  },
  runuser: {
    values: "ucgGsCw",
    flags: "lmpfP",
    longValues: ["user", "command", "group", "shell", "session-command"],
    longFlags: ["login", "pty"],
    code: ["c", "C", "command", "session-command", "s", "shell"],
  },
  sudo: {
    values: "ugpCrtTUDRhac",
    flags: "EnSHbkKAPvlisBN",
    longValues: [
      "user",
      "group",
      "prompt",
      "close-from",
      "role",
      "type",
      "command-timeout",
      "other-user",
      "chdir",
      "chroot",
      "host",
    ],
    longFlags: [
      "preserve-env",
      "non-interactive",
      "stdin",
      "set-home",
      "background",
      "reset-timestamp",
      "askpass",
      "login",
      "shell",
      "validate",
      "list",
    ],
    assignments: true,
    shell: ["i", "s", "login", "shell"],
  },
  "systemd-run": {
    values: "ptuMHGESC",
    flags: "dqrPST",
    longValues: [
      "unit",
      "property",
      "description",
      "slice",
      "uid",
      "gid",
      "setenv",
      "on-active",
      "on-calendar",
      "working-directory",
    ],
    longFlags: ["user", "scope", "pty", "pipe", "wait", "collect", "quiet", "shell", "same-dir"],
  },
  taskset: { operands: 1, flags: "acp", idle: ["p"] },
  time: {
    values: "fo",
    flags: "apvqV",
    longValues: ["format", "output"],
    longFlags: ["append", "portability", "verbose", "quiet"],
  },
  timeout: {
    operands: 1,
    values: "ks",
    flags: "vfp",
    longValues: ["kill-after", "signal"],
    longFlags: ["preserve-status", "foreground", "verbose"],
  },
  unbuffer: { flags: "p" },
  unshare: {
    values: "SGRw",
    attached: "muinpUCT",
    flags: "frc",
    longValues: [
      "setuid",
      "setgid",
      "root",
      "wd",
      "map-user",
      "map-group",
      "map-users",
      "map-groups",
      "propagation",
      "setgroups",
      "monotonic",
      "boottime",
    ],
    longFlags: [
      "mount",
      "uts",
      "ipc",
      "net",
      "pid",
      "user",
      "cgroup",
      "time",
      "fork",
      "map-root-user",
      "map-current-user",
      "map-auto",
      "kill-child",
      "mount-proc",
      "keep-caps",
    ],
  },
  sg: { operands: 1, flags: "l", code: ["c"], values: "c" },
  newgrp: { operands: 1, flags: "l", code: ["c"], values: "c" },
  uclampset: { values: "mMp", flags: "asR", idle: ["p", "s"] },
  ifne: { flags: "n" },
  ccache: {
    values: "dFMo",
    flags: "cCszpVhk",
    longValues: ["config-path", "dir", "max-files", "max-size", "set-config"],
    longFlags: ["cleanup", "clear", "show-stats", "zero-stats", "version", "help"],
  },
  pkexec: { longValues: ["user"], longFlags: ["version", "help", "disable-internal-agent"] },
  "xvfb-run": {
    values: "efnpsw",
    flags: "a",
    longValues: ["server-args", "server-num", "error-file", "auth-file"],
    longFlags: ["auto-servernum"],
  },
};

/** Of setarch, under the names of the architectures too. */
const kArchitecture: Program = {
  flags: "BFILRSTXZv3h",
  longFlags: (
    "32bit fdpic-funcptrs short-inode addr-compat-layout addr-no-randomize whole-seconds " +
    "sticky-timeouts read-implies-exec mmap-page-zero 3gb 4gb uname-2.6 verbose list show"
  ).split(" "),
  idle: ["list", "show"],
};
const kArchitectures =
  "linux32 linux64 i386 i486 i586 i686 x86_64 uname26 arm aarch64 armh ppc ppc64 s390";

/** Wrappers whose options all stand by themselves, with the count of their own operands. */
const kPlain: Readonly<Record<string, number>> = {
  eatmydata: 0,
  torsocks: 0,
  tsocks: 0,
  heaptrack: 0,
  "dbus-launch": 0,
  zrun: 0,
  faketime: 1,
  setlock: 1,
  envdir: 1,
  lckdo: 1,
};

export const kWrappers: ProgramTable = Object.fromEntries([
  ...Object.entries(kOperands).map(([name, program]) => [name, { runs: "command", ...program }]),
  ...kArchitectures.split(" ").map((name) => [name, { runs: "command", ...kArchitecture }]),
  ...Object.entries(kPlain).map(([name, operands]) => [name, { runs: "command", operands }]),
  ["cross-env", { runs: "command", assignments: true }],
  ["caffeinate", { runs: "command", flags: "dimsu", values: "tw" }],
]);

/** Programs whose options are too many to list, before the command in their operands. */
export const kSomewhere: ProgramTable = Object.fromEntries(
  (
    "setarch arch ssh-agent systemd-inhibit systemd-cat bwrap firejail numactl softlimit " +
    "chpst cgexec proxychains proxychains4 direnv entr watchexec perf rr valgrind " +
    "screen xterm dtach docker podman nerdctl kubectl lxc incus nix guix toolbox distrobox flatpak volta fnm nvm " +
    "mise asdf rbenv pyenv rustup hatch pdm tox lerna nx turbo dotnet qemu-x86_64 wine tcpserver " +
    "ip dotenv dotenvx xcrun run0 corepack nsjail minijail capsh setuidgid sem supervise runsv nix-shell bpftrace"
  )
    .split(" ")
    .map((name) => [name, { runs: "somewhere" } satisfies Program]),
);
