/** npm packages that only tests need, locked in a folder beside them: installed below build/, where they are kept. */

import { spawnSync } from "node:child_process";
import { cpSync, existsSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

import { plainEnvironment } from "./requirements.js";

const kBuild = fileURLToPath(new URL("../../../build", import.meta.url));

/** Where those of a folder are, or would be. */
export const lockedPackages = (name: string): string => join(kBuild, name, "node_modules");

/**
 * Installs those that `locked`, a folder with package.json and its lock, names, unless all that is wanted is there.
 * Returns why they can't be had; undefined when they are.
 */
export function installLocked(
  name: string,
  locked: string,
  isThere: () => boolean,
): string | undefined {
  if (isThere()) return undefined;
  const into = join(kBuild, name);
  mkdirSync(into, { recursive: true });
  for (const file of ["package.json", "package-lock.json"]) {
    cpSync(join(locked, file), join(into, file));
  }
  const words = ["ci", "--prefix", into, "--ignore-scripts", "--no-audit", "--no-fund"];
  const { status, error, stderr } = spawnSync("npm", words, {
    encoding: "utf8",
    env: plainEnvironment(),
    timeout: 240_000,
  });
  if (status !== 0) return error?.message ?? stderr.trim().split("\n")[0];
  return isThere() ? undefined : "they are not where they should be";
}

/** Whether a file of an installed package is there. */
export const isInstalled = (name: string, file: string): boolean =>
  existsSync(join(lockedPackages(name), file));
