import { open } from "node:fs/promises";
import path from "node:path";
import ignore from "ignore";

import { kOpenFlags } from "./entry.js";

/** Bytes; a longer rule file is no rule file. */
const kMaxRuleBytes = 1024 ** 2;

/** @param {string} file */
async function rulesIn(file) {
  try {
    const handle = await open(file, kOpenFlags); // as git, which reads no linked .gitignore
    try {
      const stat = await handle.stat();
      return stat.isFile() && stat.size <= kMaxRuleBytes ? await handle.readFile("utf8") : "";
    } finally {
      await handle.close();
    }
  } catch {
    return ""; // none, or not ours to read
  }
}

/**
 * Which paths of a project stay out of its copy, and out of commits: all of `.git`, and what the
 * .gitignore files say. They are read while the project is copied and stay as they were then: what
 * a command writes in a .gitignore of the copy has no say until it is committed.
 */
export class IgnoreRules {
  /** @type {Map<string, import("ignore").Ignore>} */
  #byDirectory = new Map();

  /**
   * Reads the rules of one directory; parents come before children.
   * @param {string} root
   * @param {string} directory relative, "" for the root
   */
  async read(root, directory) {
    const exclude =
      directory === "" ? await rulesIn(path.join(root, ".git", "info", "exclude")) : "";
    const text = await rulesIn(path.join(root, directory, ".gitignore"));
    if (exclude === "" && text === "") return;
    const rules = ignore({ ignorecase: false }).add(exclude).add(text);
    this.#byDirectory.set(directory, rules);
  }

  /**
   * For a path whose parent directories are not ignored themselves.
   * @param {string} place relative to the root
   * @param {boolean} isDirectory
   */
  ignores(place, isDirectory) {
    if (path.basename(place).toLowerCase() === ".git") return true;
    const suffix = isDirectory ? "/" : "";
    for (let directory = place; directory !== ""; ) {
      directory = directory.includes("/") ? path.dirname(directory) : "";
      const rules = this.#byDirectory.get(directory);
      if (rules === undefined) continue;
      const below = directory === "" ? place : place.slice(directory.length + 1);
      const { ignored, unignored } = rules.test(below + suffix);
      if (ignored || unignored) return ignored; // the nearest file that says anything decides
    }
    return false;
  }
}
