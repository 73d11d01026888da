/** The block list by command name. */

import { anyUse, operands, type ShellCall, type ShellRule } from "../call.js";
import { hasOption, isLong, shortLetters } from "../options.js";
import { normalized } from "../path.js";
import { kAnyCharacter, kAnyText, type ShellWord } from "../script/word.js";
import { kDestructiveGit, kDestructiveRoot } from "./destructive.js";

/** Writes to disks and other devices, bypassing every file system. */

const kDevice = new RegExp(
  `^/dev/(?:(?:sd|hd|vd|xvd|nvme|mmcblk|loop|dm-|md|nbd|zd|sr|ram|pmem|disk|mapper)[\\w/${kAnyText}${kAnyCharacter}.:-]*|k?mem|port|[${kAnyText}${kAnyCharacter}]+\\w*)$`,
);

/** True if a path is a disk, or the machine's memory. */
export function isDevice({ text }: ShellWord): boolean {
  return kDevice.test(normalized(text));
}

function assigned(call: ShellCall, key: string): ShellWord | undefined {
  const word = call.words.find(({ text }) => text.startsWith(key));
  return word && { ...word, text: word.text.slice(key.length) };
}

const kReason = "This writes to a disk directly.";
const name = "disk-write";

const kDiskWrite: readonly ShellRule[] = [
  {
    name,
    reason: kReason,
    commands: ["dd", "dcfldd"],
    find: (call) => {
      const file = assigned(call, "of=");
      return file && isDevice(file) ? file : undefined;
    },
  },
  {
    name,
    reason: kReason,
    commands: [
      "tee",
      "shred",
      "truncate",
      "cp",
      "install",
      "mv",
      "sponge",
      "ddrescue",
      "fallocate",
    ],
    find: (call) => {
      const files = operands(call);
      return /^(?:cp|install|mv)$/.test(call.name)
        ? files.slice(-1).find(isDevice)
        : files.find(isDevice);
    },
  },
  {
    name,
    reason: "This makes, changes or wipes a file system or a partition table.",
    commands: [
      "mkfs",
      "mke2fs",
      "mkswap",
      "mkntfs",
      "mkdosfs",
      "wipefs",
      "blkdiscard",
      "newfs",
      "mkudffs",
      "zpool",
      "lvremove",
      "vgremove",
      "pvremove",
    ],
    find: (call) => (hasOption(call.words, "", "help") ? undefined : anyUse(call)),
  },
  {
    name,
    reason: "This makes, changes or wipes a file system or a partition table.",
    commands: [
      "fdisk",
      "cfdisk",
      "sfdisk",
      "gdisk",
      "sgdisk",
      "parted",
      "hdparm",
      "badblocks",
      "cryptsetup",
    ],
    find: (call) =>
      hasOption(call.words, "l", "list") || hasOption(call.words, "p", "print")
        ? undefined
        : call.words.slice(1).find(isDevice),
  },
];

/** Shells connected to another host. */

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

const kReverseShell: readonly ShellRule[] = [
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

/** Programs that connect to other hosts; with a named pipe they make a reverse shell. */
export const kNetworkPrograms: ReadonlySet<string> = new Set([
  "nc",
  "ncat",
  "netcat",
  "telnet",
  "socat",
  "openssl",
]);

/** Power management, signals to all processes, and kernel modules. */

const kPower =
  /^(?:poweroff|reboot|halt|kexec|soft-reboot|rescue|emergency|suspend|hibernate|hybrid-sleep|default|isolate|exit)$/;

const kSystem: readonly ShellRule[] = [
  {
    name: "system-control",
    reason: "This stops or restarts the machine.",
    commands: ["shutdown", "reboot", "halt", "poweroff", "kexec", "pm-suspend", "pm-hibernate"],
    find: anyUse,
  },
  {
    name: "system-control",
    reason: "This stops or restarts the machine.",
    commands: ["init", "telinit"],
    find: (call) => operands(call).find(({ text }) => /^[0-6sSqQuU]$/.test(text)),
  },
  {
    name: "system-control",
    reason: "This stops or restarts the machine.",
    commands: ["systemctl", "loginctl"],
    find: (call) =>
      operands(call)
        .slice(0, 1)
        .find(({ text }) => kPower.test(text)),
  },
  {
    name: "system-control",
    reason: "This ends every process.",
    commands: ["kill"],
    find: ({ words }) =>
      words.slice(2).find(({ text }) => /^-0*1$/.test(text)) ??
      (words[1]?.text === "--" ? words.slice(2).find(({ text }) => text === "-1") : undefined),
  },
  {
    name: "system-control",
    reason: "This ends every process.",
    commands: ["killall5"],
    find: anyUse,
  },
  {
    name: "system-control",
    reason: "This ends every process.",
    commands: ["pkill", "killall"],
    find: (call) => operands(call).find(({ text }) => /^(?:\.|\.\*|\^|\*|)$/.test(text)),
  },
  {
    name: "kernel-module",
    reason: "This loads or removes a module of the kernel.",
    commands: ["insmod", "rmmod", "kldload", "kldunload"],
    find: anyUse,
  },
  {
    name: "kernel-module",
    reason: "This loads or removes a module of the kernel.",
    commands: ["modprobe"],
    find: (call) =>
      hasOption(call.words, "n", "dry-run") || hasOption(call.words, "Dc", "show")
        ? undefined
        : anyUse(call),
  },
];

/** Files that change the running kernel. */
export const kKernelFile =
  /^\/(?:proc\/sysrq-trigger|proc\/sys\/|sys\/(?:kernel|power|firmware|module|class|bus|devices)\/|boot\/)/;

const kRules = new Map<string, ShellRule[]>();
for (const rule of [
  ...kDestructiveRoot,
  ...kDiskWrite,
  ...kReverseShell,
  ...kSystem,
  ...kDestructiveGit,
]) {
  for (const command of rule.commands) {
    kRules.set(command, [...(kRules.get(command) ?? []), rule]);
  }
}
const kNone: readonly ShellRule[] = [];

/** Returns the rules for a command; those of `mkfs` also for `mkfs.ext4`. */
export function rulesOf(name: string): readonly ShellRule[] {
  return kRules.get(name.startsWith("mkfs.") ? "mkfs" : name) ?? kNone;
}
