// Programs from npm that the package itself does not depend on, of the versions that a lock file names.
import { cpSync, existsSync, mkdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { inRoot } from "../project.mjs";
import { runQuietly } from "../run.mjs";

/**
 * Installs what the lock file of a folder of the checkout names, unless it is there.
 * @param more words for npm, such as for another kind of machine than this.
 * @returns the directory of its packages.
 */
export function installLocked(folder, into, more = []) {
  mkdirSync(into, { recursive: true });
  const lock = readFileSync(inRoot(folder, "package-lock.json"));
  const installed = path.join(into, "package-lock.json");
  const modules = path.join(into, "node_modules");
  if (existsSync(modules) && existsSync(installed) && readFileSync(installed).equals(lock)) {
    return modules;
  }
  for (const name of ["package.json", "package-lock.json"]) {
    cpSync(inRoot(folder, name), path.join(into, name));
  }
  const words = ["ci", "--prefix", into, "--ignore-scripts", "--no-audit", "--no-fund"];
  runQuietly("npm", [...words, ...more]);
  return modules;
}
