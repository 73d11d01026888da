/** Paths as text: nothing is looked up, `~` is a folder like any other. Also for globs' marks. */

import { kAnyCharacter, kAnyText, kExpansion } from "./script/word.js";

/** Without empty, `.` and `..` segments and without a slash at the end; `/` stays. */
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

/** `path` as seen from `directory`; as it is where that folder is not known. */
export function resolved(path: string, directory: string | undefined): string {
  const full = isRooted(path) || directory === undefined ? path : `${directory}/${path}`;
  return normalized(full);
}

export function isGlob(text: string): boolean {
  return text.includes(kAnyText) || text.includes(kAnyCharacter);
}

/** Without what expands to nothing when its variable is not set. */
export function withoutExpansions(text: string): string {
  return text.replaceAll(kExpansion, "");
}

/** Whether a glob with marks may match `name`, which has no slash. Linear, no backtracking. */
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
