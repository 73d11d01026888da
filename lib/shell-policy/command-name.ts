/** Command words against lists of names and paths. */

import { basename } from "./call.js";

/** Where a program found by its path is the one that its name stands for. */
const kSystemFolders = new Set([
  "/bin",
  "/sbin",
  "/usr/bin",
  "/usr/sbin",
  "/usr/local/bin",
  "/usr/local/sbin",
]);

/** Whether a list that allows has this command word. */
export function isAllowed(word: string, allowlist: readonly string[]): boolean {
  if (allowlist.includes(word)) return true;
  const slash = word.lastIndexOf("/");
  if (slash < 0) return allowlist.some((entry) => isSystemPath(entry) && basename(entry) === word);
  return isSystemPath(word) && allowlist.includes(word.slice(slash + 1));
}

function isSystemPath(path: string): boolean {
  return kSystemFolders.has(path.slice(0, Math.max(0, path.lastIndexOf("/"))));
}
