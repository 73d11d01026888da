// The JavaScript engines that the package runs in, from npm: releases of Node.js, Bun and Deno. Their
// versions are those of the lock files, which are also the tests'.
import { readFileSync } from "node:fs";
import path from "node:path";
import { installLocked } from "../lib/npm/install.mjs";
import { inRoot } from "../lib/project.mjs";
import { cacheDirectory } from "./cache.mjs";

const kNodes = "__tests__/platforms/nodes";
const kOthers = "__tests__/integration/other-hosts/engines";

/** @returns {{ name: string, words: string[], node?: string }[]} the words in front of a program's path. */
export function nodes() {
  const modules = installLocked(kNodes, cacheDirectory("nodes"));
  const { dependencies } = JSON.parse(readFileSync(inRoot(kNodes, "package.json"), "utf8"));
  return Object.entries(dependencies).map(([alias, wanted]) => {
    const node = path.join(modules, alias, "bin", "node");
    return { name: `Node.js ${wanted.split("@").at(-1)}`, words: [node], node };
  });
}

export function otherEngines() {
  const modules = installLocked(kOthers, inRoot("build", "other-hosts"));
  const { optionalDependencies } = JSON.parse(
    readFileSync(inRoot(kOthers, "package.json"), "utf8"),
  );
  const bun = "@oven/bun-linux-x64";
  const deno = "@deno/linux-x64-glibc";
  return [
    { name: `Bun ${optionalDependencies[bun]}`, words: [path.join(modules, bun, "bin", "bun")] },
    {
      name: `Deno ${optionalDependencies[deno]}`,
      words: [path.join(modules, deno, "deno"), "run", "--allow-all", "--no-lock"],
    },
  ];
}
