// The JavaScript engines that the package runs in, from npm: releases of Node.js, Bun and Deno. Their
// versions are those of the lock files, which are also the tests'.
import { cpSync, existsSync, mkdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { inRoot } from "../lib/project.mjs";
import { runQuietly } from "../lib/run.mjs";
import { cacheDirectory } from "./cache.mjs";

const kNodes = "__tests__/platforms/nodes";
const kOthers = "__tests__/integration/other-hosts/engines";

/** Installs what a folder's lock file names; returns where its packages are. */
function install(folder, into) {
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
  runQuietly("npm", words);
  return modules;
}

/** @returns {{ name: string, words: string[], node?: string }[]} the words in front of a program's path. */
export function nodes() {
  const modules = install(kNodes, cacheDirectory("nodes"));
  const { dependencies } = JSON.parse(readFileSync(inRoot(kNodes, "package.json"), "utf8"));
  return Object.entries(dependencies).map(([alias, wanted]) => {
    const node = path.join(modules, alias, "bin", "node");
    return { name: `Node.js ${wanted.split("@").at(-1)}`, words: [node], node };
  });
}

export function otherEngines() {
  const modules = install(kOthers, inRoot("build", "other-hosts"));
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
