import { lstat, readdir } from "node:fs/promises";
import path from "node:path";

import { codeOf, Failure } from "../failure.js";
import { kMaxEntries } from "./limits.js";

/**
 * @typedef {import("./ignore-rules.js").IgnoreRules} IgnoreRules
 * @typedef {{ place: string, stat: import("node:fs").Stats } | { place: string, reason: string }} Step
 */

/** @param {unknown} error */
const reasonOf = (error) => `can't be read (${codeOf(error) ?? "unknown error"})`;

/**
 * Everything below `root` that is not ignored, parents before children. Links are never followed.
 * What can't be looked at comes with the reason; a tree without end is a {@link Failure}.
 *
 * @param {string} root
 * @param {IgnoreRules} rules
 * @param {{ readRules?: boolean }} [options] `readRules`: take up the .gitignore files on the way
 * @returns {AsyncGenerator<Step, void>}
 */
export async function* walk(root, rules, { readRules = false } = {}) {
  const directories = [""];
  let count = 0;
  for (let next = directories.pop(); next !== undefined; next = directories.pop()) {
    if (readRules) await rules.read(root, next);
    for await (const step of list(root, next)) {
      if (rules.ignores(step.place, "stat" in step && step.stat.isDirectory())) continue;
      count += 1;
      if (count > kMaxEntries) throw new Failure(`${root} holds more than ${kMaxEntries} files`);
      if ("stat" in step && step.stat.isDirectory()) directories.push(step.place);
      yield step;
    }
  }
}

/**
 * @param {string} root
 * @param {string} directory relative, "" for the root
 * @returns {AsyncGenerator<Step, void>}
 */
async function* list(root, directory) {
  /** @type {Buffer[]} */
  let names;
  try {
    names = await readdir(path.join(root, directory), { encoding: "buffer" });
  } catch (error) {
    yield { place: directory, reason: reasonOf(error) };
    return;
  }
  for (const raw of names) {
    const name = raw.toString("utf8");
    const place = directory === "" ? name : `${directory}/${name}`;
    if (!Buffer.from(name).equals(raw)) {
      yield { place, reason: "its name is not UTF-8" };
      continue;
    }
    try {
      yield { place, stat: await lstat(path.join(root, place)) };
    } catch (error) {
      yield { place, reason: reasonOf(error) };
    }
  }
}
