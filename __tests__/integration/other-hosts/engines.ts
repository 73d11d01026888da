/**
 * JavaScript engines that are not Node. They come from npm, into a folder below build/ that is kept;
 * where one can't be had, its tests say why.
 */

import { join } from "node:path";
import { fileURLToPath } from "node:url";

import { installLocked, isInstalled, lockedPackages } from "../support/locked-packages.js";

const kLocked = fileURLToPath(new URL("engines", import.meta.url));
const kName = "other-hosts";

/** Programs of the packages in engines/, by engine. */
const kPrograms = {
  Bun: ["@oven/bun-linux-x64/bin/bun", "@oven/bun-linux-aarch64/bin/bun"],
  Deno: ["@deno/linux-x64-glibc/deno"],
} as const;

/** What starts a program with all that Node's may do, and `gc` as a global. */
const kWords = {
  Bun: ["--expose-gc"],
  Deno: ["run", "--allow-all", "--no-lock", "--v8-flags=--expose-gc"],
} as const;

export type EngineName = keyof typeof kPrograms;

export type Engine = {
  name: EngineName;
  /** The words in front of a program's path. */
  words: readonly string[];
  /** Why it is not here. */
  whyNot: string | undefined;
};

/** For the environment of what they run: no colours in errors, no look-up of newer versions. */
export const kEngineEnvironment = { NO_COLOR: "1", DENO_NO_UPDATE_CHECK: "1" };

function find(engine: EngineName): string | undefined {
  const file = kPrograms[engine].find((path) => isInstalled(kName, path));
  return file === undefined ? undefined : join(lockedPackages(kName), file);
}

/** Those that there are, installed; the addon of a sanitizer's build is for Node alone. */
export function engines(): Engine[] {
  const areThere = () => find("Bun") !== undefined && find("Deno") !== undefined;
  const failure = installLocked(kName, kLocked, areThere);
  return (Object.keys(kPrograms) as EngineName[]).map((name) => {
    const program = find(name);
    const whyNot =
      program === undefined
        ? failure
          ? `the engines can't be installed: ${failure}`
          : `no ${name} for this machine`
        : undefined;
    return { name, words: [program ?? "", ...kWords[name]], whyNot };
  });
}
