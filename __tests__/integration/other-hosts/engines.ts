/**
 * JavaScript engines that are not Node. They come from npm, into a folder below build/ that is kept;
 * where one can't be had, its tests say why.
 */

import { spawnSync } from "node:child_process";
import { cpSync, existsSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

import { plainEnvironment } from "../support/requirements.js";

const kLocked = fileURLToPath(new URL("engines", import.meta.url));
const kInstalled = fileURLToPath(new URL("../../../build/other-hosts", import.meta.url));

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
  const paths = kPrograms[engine].map((path) => join(kInstalled, "node_modules", path));
  return paths.find((path) => existsSync(path));
}

/** Why they can't be installed; undefined when they are. */
function install(): string | undefined {
  if (find("Bun") !== undefined && find("Deno") !== undefined) return undefined;
  mkdirSync(kInstalled, { recursive: true });
  for (const name of ["package.json", "package-lock.json"]) {
    cpSync(join(kLocked, name), join(kInstalled, name));
  }
  const words = ["ci", "--prefix", kInstalled, "--ignore-scripts", "--no-audit", "--no-fund"];
  const { status, error, stderr } = spawnSync("npm", words, {
    encoding: "utf8",
    env: plainEnvironment(),
    timeout: 240_000,
  });
  if (status === 0) return undefined;
  return `the engines can't be installed: ${error?.message ?? stderr.trim().split("\n")[0]}`;
}

/** Those that there are, installed; the addon of a sanitizer's build is for Node alone. */
export function engines(): Engine[] {
  const failure = install();
  return (Object.keys(kPrograms) as EngineName[]).map((name) => {
    const program = find(name);
    const whyNot = program === undefined ? (failure ?? `no ${name} for this machine`) : undefined;
    return { name, words: [program ?? "", ...kWords[name]], whyNot };
  });
}
