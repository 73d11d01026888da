/** Power, all processes at once, and the kernel's modules. */

import { hasOption } from "../options.js";
import { anyUse, operands, type ShellRule } from "./rule.js";

const kPower =
  /^(?:poweroff|reboot|halt|kexec|soft-reboot|rescue|emergency|suspend|hibernate|hybrid-sleep|default|isolate|exit)$/;

export const kSystem: readonly ShellRule[] = [
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

/** Files through which the running kernel is changed. */
export const kKernelFile =
  /^\/(?:proc\/sysrq-trigger|proc\/sys\/|sys\/(?:kernel|power|firmware|module|class|bus|devices)\/|boot\/)/;
