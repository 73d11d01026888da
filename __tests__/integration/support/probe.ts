/** The C programs of ../probe, built once for each file of tests that uses them. */

import { spawnSync } from "node:child_process";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

import { plainEnvironment } from "./requirements.js";

const sources = fileURLToPath(new URL("../probe", import.meta.url));

function compile(args: readonly string[], output: string): string {
  const compiler = process.env.CC ?? "cc";
  const done = spawnSync(compiler, [...args, "-o", output], {
    cwd: sources,
    encoding: "utf8",
    env: plainEnvironment(),
  });
  if (done.status !== 0) throw new Error(`${compiler}: ${done.error?.message ?? done.stderr}`);
  return output;
}

/** The static program of many tries, as `directory`/probe: it runs whatever is mounted. */
export function buildProbe(directory: string): string {
  const files = readdirSync(sources).filter((name) => name.endsWith(".c") && name !== "spy.c");
  return compile(["-static", "-O1", ...files], join(directory, "probe"));
}

/** The library that says where it was loaded. */
export function buildSpy(directory: string): string {
  return compile(["-shared", "-fPIC", "-O1", "spy.c"], join(directory, "spy.so"));
}
