/** The component toolchain: an optional peer dependency, found when a component is to be run. */

import { readdir, realpath } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

import { SkillError } from "../skill-error.js";

const kPackage = "@bytecodealliance/jco-transpile";
const kScope = dirname(kPackage);

export type Toolchain = {
  /** URL of its module. */
  url: string;
  /** The directories that it is loaded from. */
  directories: readonly string[];
};

/**
 * The directory of the toolchain's scope, and those that links in it lead to (as pnpm lays packages
 * out): the module's own imports are all of this scope.
 */
async function scopeDirectories(file: string): Promise<string[]> {
  const path = await realpath(file);
  const first = path.slice(0, path.lastIndexOf(`${kScope}/`) + kScope.length);
  const found = [first];
  for (const directory of found) {
    for (const name of await readdir(directory)) {
      const scope = dirname(await realpath(join(directory, name)));
      if (!found.includes(scope)) found.push(scope);
    }
  }
  return found;
}

/** @throws (rejects) SkillError that names what to install when there is none. */
export async function findToolchain(): Promise<Toolchain> {
  try {
    const url = import.meta.resolve(`${kPackage}/component`);
    return { url, directories: await scopeDirectories(fileURLToPath(url)) };
  } catch (cause) {
    throw new SkillError("this skill is a component, and nothing here runs components", {
      code: "ERR_SKILL_ENGINE",
      fix: `install wasmtime (https://wasmtime.dev) so that it is on PATH, or \`npm install ${kPackage}\``,
      cause,
    });
  }
}
