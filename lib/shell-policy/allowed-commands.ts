/** Command words against a list of names and paths that allows. */

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

function isSystemPath(path: string): boolean {
  return kSystemFolders.has(path.slice(0, Math.max(0, path.lastIndexOf("/"))));
}

export class AllowedCommands {
  readonly #list: readonly string[];
  /** The names of those that the list has by their path; made when first needed. */
  #names: ReadonlySet<string> | undefined;

  constructor(list: readonly string[]) {
    this.#list = list;
  }

  has(word: string): boolean {
    if (this.#list.includes(word)) return true;
    const slash = word.lastIndexOf("/");
    if (slash >= 0) return isSystemPath(word) && this.#list.includes(word.slice(slash + 1));
    this.#names ??= new Set(this.#list.filter(isSystemPath).map(basename));
    return this.#names.has(word);
  }
}
