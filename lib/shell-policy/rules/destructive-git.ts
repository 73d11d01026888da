/** git commands that lose work or history. */

import type { ShellCall } from "../call.js";
import { gitWords } from "../carriers/git.js";
import { hasOption } from "../options.js";
import type { ShellWord } from "../script/word.js";
import type { ShellRule } from "./rule.js";

type Words = readonly ShellWord[];

function option(words: Words, pattern: RegExp): ShellWord | undefined {
  const end = words.findIndex(({ text }) => text === "--");
  return words.slice(1, end < 0 ? undefined : end).find(({ text }) => pattern.test(text));
}

function wholeTree(words: Words): ShellWord | undefined {
  return words
    .slice(1)
    .find(({ text }) => /^(?:\.\/?|:\/|\*|:\(top\)|\.\/\*)$/.test(text) || text === "\ufdd1");
}

function sub(words: Words, ...names: string[]): boolean {
  return names.includes(words[1]?.text ?? "");
}

const kSubcommands: Readonly<Record<string, (words: Words) => ShellWord | undefined>> = {
  push: (words) =>
    option(words, /^-[a-zA-Z]*[fd]|^--(?:forc?|force|mir\w*|dele?t?e?|prune?)$/) ??
    words.slice(2).find(({ text }) => /^[+:]./.test(text)),
  reset: (words) => option(words, /^--har?d?$/),
  clean: (words) =>
    hasOption(words, "n", "dry-run") ? undefined : option(words, /^-[a-zA-Z]*[fx]|^--forc?e?$/),
  checkout: (words) => option(words, /^-[a-zA-Z]*f|^--forc?e?$/) ?? wholeTree(words),
  switch: (words) => option(words, /^-[a-zA-Z]*[fC]|^--(?:forc?e?|disc\w*|force-c\w*)$/),
  restore: (words) =>
    hasOption(words, "S", "staged") && !hasOption(words, "W", "worktree")
      ? undefined
      : wholeTree(words),
  branch: (words) =>
    option(words, /^-[a-zA-Z]*D/) ??
    (hasOption(words, "d", "delete") ? option(words, /^-[a-zA-Z]*f|^--forc?e?$/) : undefined),
  "filter-branch": (words) => words[0],
  "filter-repo": (words) => words[0],
  reflog: (words) => (sub(words, "expire", "delete", "drop") ? words[1] : undefined),
  stash: (words) => (sub(words, "drop", "clear") ? words[1] : undefined),
  "update-ref": (words) => option(words, /^-[a-z]*d|^--delete$/),
  gc: (words) => option(words, /^--prune=(?:now|all)$/),
  prune: (words) => (hasOption(words, "n", "dry-run") ? undefined : words[0]),
  worktree: (words) => (sub(words, "remove") ? option(words, /^-[a-z]*f|^--forc?e?$/) : undefined),
  rm: (words) =>
    hasOption(words, "r") && !hasOption(words, "", "cached") ? wholeTree(words) : undefined,
};

export const kDestructiveGit: readonly ShellRule[] = [
  {
    name: "destructive-git",
    reason: "This git command loses work or rewrites history that others may have.",
    commands: ["git"],
    find: (call: ShellCall) => {
      const words = gitWords(call);
      const name = words[0]?.text ?? "";
      return Object.hasOwn(kSubcommands, name) ? kSubcommands[name]?.(words) : undefined;
    },
  },
];
