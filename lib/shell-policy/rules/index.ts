/** The block list by command name. */

import { kDestructiveGit } from "./destructive-git.js";
import { kDestructiveRoot } from "./destructive-root.js";
import { kDiskWrite } from "./disk-write.js";
import { kReverseShell } from "./reverse-shell.js";
import type { ShellRule } from "./rule.js";
import { kSystem } from "./system.js";

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

/** The rules about a command; those of `mkfs` also for `mkfs.ext4`. */
export function rulesOf(name: string): readonly ShellRule[] {
  return kRules.get(name.startsWith("mkfs.") ? "mkfs" : name) ?? kNone;
}
