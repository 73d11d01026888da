/**
 * Handles paths as text: nothing is looked up, and `~` is an ordinary folder. Also handles the marks of
 * globs.
 */

import { kAnyCharacter, kAnyText, kExpansion, type ShellWord } from "./script/word.js";

/** Removes empty, `.` and `..` segments and a trailing slash; `/` is kept. */
export function normalized(path: string): string {
  const kept: string[] = [];
  for (const segment of path.split("/")) {
    if (segment === "" || segment === ".") continue;
    if (segment === ".." && kept.length > 0 && kept.at(-1) !== "..") kept.pop();
    else if (segment !== ".." || !path.startsWith("/")) kept.push(segment);
  }
  const joined = kept.join("/");
  return path.startsWith("/") ? `/${joined}` : joined;
}

export function isRooted(path: string): boolean {
  return path.startsWith("/") || path.startsWith("~");
}

/** Resolves `path` against `directory`; unchanged if that folder is unknown. */
export function resolved(path: string, directory: string | undefined): string {
  const full = isRooted(path) || directory === undefined ? path : `${directory}/${path}`;
  return normalized(full);
}

export function basename(path: string): string {
  return path.slice(path.lastIndexOf("/") + 1);
}

export function isGlob(text: string): boolean {
  return text.includes(kAnyText) || text.includes(kAnyCharacter);
}

/** Removes expansions, which are empty if their variable is not set. */
export function withoutExpansions(text: string): string {
  return text.replaceAll(kExpansion, "");
}

/** True if a glob with marks may match `name`, which has no slash. Linear, no backtracking. */
export function mayMatch(glob: string, name: string): boolean {
  if (name.startsWith(".") && !glob.startsWith(".")) return false;
  let g = 0;
  let n = 0;
  let star = -1;
  let mark = 0;
  while (n < name.length) {
    if (glob[g] === kAnyText) {
      star = g++;
      mark = n;
    } else if (glob[g] === kAnyCharacter || (g < glob.length && glob[g] === name[n])) {
      g++;
      n++;
    } else if (star >= 0) {
      g = star + 1;
      n = ++mark;
    } else {
      return false;
    }
  }
  while (glob[g] === kAnyText) g++;
  return g === glob.length;
}

/** Tracks the folder that literal `cd`s of a script lead to, as far as it can be determined. */

export class WorkingDirectory {
  /** Undefined initially, and after a `cd` whose target is known only at run time. */
  path: string | undefined;

  /** Applies a `cd` or `pushd` with these words. */
  enter(words: readonly ShellWord[]): void {
    const target = words.slice(1).find(({ text }) => !/^-[LPe@]+$|^--$/.test(text));
    if (target === undefined) this.path = "~";
    else
      this.path =
        target.literal || target.text === "~" ? resolved(target.text, this.path) : undefined;
  }
}
