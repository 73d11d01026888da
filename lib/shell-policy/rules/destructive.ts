/** Recursive removal or change of the root, a system folder or the home folder. */

import { operands, type ShellCall, type ShellRule } from "../call.js";
import { gitWords } from "../command-wrappers/git.js";
import { hasOption, isLong } from "../options.js";
import { isGlob, isRooted, mayMatch, resolved, withoutExpansions } from "../path.js";
import { kAnyCharacter, kAnyText, kExpansion, type ShellWord } from "../script/word.js";

const kFolders = [
  "bin",
  "boot",
  "dev",
  "etc",
  "home",
  "lib",
  "lib32",
  "lib64",
  "mnt",
  "opt",
  "proc",
  "root",
  "run",
  "sbin",
  "srv",
  "sys",
  "usr",
  "var",
];
const kMarks = new RegExp(`^(?:\\.?[*?${kAnyText}${kAnyCharacter}]+|\\.\\[.*|\\*\\*)$`);

function isRootFolder(path: string): boolean {
  const [start = "", ...segments] = path.split("/");
  // /*, ~/*, /etc/*: the folder's whole content.
  const whole = segments.findLastIndex((segment) => !kMarks.test(segment)) + 1;
  if (whole === 0 && segments.length > 0) return true;
  segments.length = whole;
  const [first = ""] = segments;
  const folder = [start, ...segments].join("/");
  if (path === "/" || /^~[\w.-]*$/.test(folder)) return true;
  if (/^\/(?:home|root|Users)(?:\/[\w.-]+)?$/.test(folder)) return true;
  if (/^\/usr\/(?:bin|lib|lib64|sbin|local)$/.test(folder)) return true;
  if (/^\/var\/(?:lib|log)$/.test(folder)) return true;
  if (segments.length !== 1 || !folder.startsWith("/")) return false;
  return isGlob(first) ? kFolders.some((name) => mayMatch(first, name)) : kFolders.includes(first);
}

/** True if a word names a folder that no command should remove or change as a whole. */
function isRootTarget(word: ShellWord, directory: string | undefined): boolean {
  const { text } = word;
  if (text === "") return false;
  if (text === "..") return true;
  const texts = text.includes(kExpansion) ? [withoutExpansions(text)] : [text];
  // "$DIR"/* is a common idiom, as is "/$DIR"; only a default (${x:-/}) leaves a rooted rest.
  if (text.includes(kExpansion) && !/[{:]/.test(word.raw)) return false;
  return texts.some((each) => {
    if (each === "") return false;
    const path = resolved(each, directory);
    return isRooted(path) && isRootFolder(path);
  });
}

function target(call: ShellCall, words: readonly ShellWord[]): ShellWord | undefined {
  return words.find((word) => isRootTarget(word, call.directory));
}

export const kDestructiveRoot: readonly ShellRule[] = [
  {
    name: "destructive-root",
    reason: "This removes the root, a system folder or the home folder.",
    commands: ["rm"],
    find: (call) => {
      const { words } = call;
      const forced = words.find(({ text }) => isLong(text, "no-preserve-root", 4));
      if (forced) return forced;
      const recursive = hasOption(words, "r", "recursive") || hasOption(words, "R");
      const files = operands(call);
      return recursive ? target(call, files) : undefined;
    },
  },
  {
    name: "destructive-root",
    reason: "This changes who may use the root, a system folder or the home folder.",
    commands: ["chmod", "chown", "chgrp", "setfacl", "chattr"],
    find: (call) => {
      const { words } = call;
      if (hasOption(words, "R", "recursive"))
        return target(call, operands(call).slice(1)) ?? target(call, operands(call));
      return undefined;
    },
  },
  {
    name: "destructive-root",
    reason: "This moves the root, a system folder or the home folder away.",
    commands: ["mv"],
    find: (call) => {
      const files = operands(call);
      return target(
        call,
        hasOption(call.words, "t", "target-directory") ? files : files.slice(0, -1),
      );
    },
  },
  {
    name: "destructive-root",
    reason: "This removes what it finds in the root, a system folder or the home folder.",
    commands: ["find", "gfind"],
    find: (call) => {
      const { words } = call;
      const at = words.findIndex(({ text }) => /^[-(!]/.test(text) && !/^-[HLPDO]/.test(text));
      const roots = words.slice(1, at < 0 ? undefined : at);
      const removes = words.some(
        ({ text }, index) =>
          text === "-delete" ||
          (/^-(?:exec|execdir|ok|okdir)$/.test(text) &&
            /(?:^|\/)(?:rm|shred|unlink)$/.test(words[index + 1]?.text ?? "")),
      );
      return removes ? target(call, roots) : undefined;
    },
  },
];

/** git commands that lose work or history. */

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
