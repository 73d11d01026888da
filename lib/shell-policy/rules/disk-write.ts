/** Writes to disks and other devices, past every file system. */

import type { ShellCall } from "../call.js";
import { hasOption } from "../options.js";
import { normalized } from "../path.js";
import { kAnyCharacter, kAnyText, type ShellWord } from "../script/word.js";
import { anyUse, operands, type ShellRule } from "./rule.js";

const kDevice = new RegExp(
  `^/dev/(?:(?:sd|hd|vd|xvd|nvme|mmcblk|loop|dm-|md|nbd|zd|sr|ram|pmem|disk|mapper)[\\w/${kAnyText}${kAnyCharacter}.:-]*|k?mem|port|[${kAnyText}${kAnyCharacter}]+\\w*)$`,
);

/** Whether a path is a disk, or the machine's memory. */
export function isDevice({ text }: ShellWord): boolean {
  return kDevice.test(normalized(text));
}

function assigned(call: ShellCall, key: string): ShellWord | undefined {
  const word = call.words.find(({ text }) => text.startsWith(key));
  return word && { ...word, text: word.text.slice(key.length) };
}

const kReason = "This writes to a disk directly.";
const name = "disk-write";

export const kDiskWrite: readonly ShellRule[] = [
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
