// The JavaScript engines that the package runs in, from npm: releases of Node.js, Bun and Deno. Their
// versions are those of the lock files, which are also the tests'.
import { readFileSync } from "node:fs";
import path from "node:path";
import { installLocked } from "../lib/npm/install.mjs";
import { inRoot } from "../lib/project.mjs";
import { cacheDirectory } from "./cache.mjs";
import { kEngineSuites } from "./sandbox-suites.mjs";

const kNodes = "__tests__/platforms/nodes";
const kOthers = "__tests__/integration/other-hosts/engines";

/** @returns {{ name: string, words: string[], suites?: object }[]} `words`: those in front of a program's path. */
export function nodes() {
  const modules = installLocked(kNodes, cacheDirectory("nodes"));
  const { dependencies } = JSON.parse(readFileSync(inRoot(kNodes, "package.json"), "utf8"));
  return Object.entries(dependencies).map(([alias, wanted]) => {
    const node = path.join(modules, alias, "bin", "node");
    return { name: `Node.js ${wanted.split("@").at(-1)}`, words: [node], suites: { node } };
  });
}

/** Hosts that a test starts run in it too. What is left out is told by each test (other-hosts/this-engine.ts). */
const suitesOf = (engine, words) => ({
  node: words,
  env: { NATIVE_RUNNER_TEST_ENGINE: engine },
  integration: kEngineSuites,
});

export function otherEngines() {
  const modules = installLocked(kOthers, inRoot("build", "other-hosts"));
  const { optionalDependencies } = JSON.parse(
    readFileSync(inRoot(kOthers, "package.json"), "utf8"),
  );
  const engine = (kind, module, program, ...args) => {
    const words = [path.join(modules, module, program), ...args];
    const name = `${kind} ${optionalDependencies[module]}`;
    return { name, words, suites: suitesOf(kind, words) };
  };
  return [
    engine("Bun", "@oven/bun-linux-x64", "bin/bun"),
    engine("Deno", "@deno/linux-x64-glibc", "deno", "run", "--allow-all", "--no-lock"),
  ];
}
