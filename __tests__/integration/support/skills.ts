/** The skills of ../skills, built once for each file of tests that uses them. */

import { spawnSync } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { test } from "vitest";

import { WasmSkillExecutor, type WasmSkillExecutorOptions } from "../../../lib/index.js";
import { wat } from "../../support/wat.js";
import { plainEnvironment } from "./requirements.js";
import { tempDirectory } from "./temp.js";

const sources = fileURLToPath(new URL("../skills/modules", import.meta.url));

const kFromC = ["forged", "hog", "json", "passwd", "pours", "sleeps"] as const;
const kFromText = [
  "bytes",
  "deep",
  "drips",
  "echo",
  "endless",
  "grows",
  "huge",
  "imports",
  "tables",
  "traps",
] as const;

export type SkillName = (typeof kFromC)[number] | (typeof kFromText)[number] | "invalid";

function compileC(source: string, output: string): string | undefined {
  const args = ["--target=wasm32-wasi", "-O2", "-Wall", "-Wextra", "-Werror", "-o", output, source];
  const done = spawnSync("clang", args, { encoding: "utf8", env: plainEnvironment() });
  if (done.status === 0) return undefined;
  return done.error?.message ?? done.stderr.trim();
}

function whyNoC(): string | undefined {
  const directory = tempDirectory("wasi");
  const source = join(directory, "empty.c");
  writeFileSync(source, '#include <stdio.h>\nint main(void) { return puts("") < 0; }\n');
  const reason = compileC(source, join(directory, "empty.wasm"));
  return reason && `clang can't build for wasm32-wasi here: ${reason.split("\n")[0]}`;
}

/** Why no skill can be built from C here; undefined when one can. */
export const whyNoSkillFromC = whyNoC();
const reason = whyNoSkillFromC;
if (reason !== undefined) process.stderr.write(`skipped: skills built from C: ${reason}\n`);

const fromC = new Set<string>(kFromC);

/** `test` for a skill; one built from C is skipped, with the reason, where that can't be done. */
export function testSkill(skill: SkillName, title: string, body: () => Promise<void>): void {
  test(`${skill}: ${title}`, async (context) => {
    if (reason !== undefined && fromC.has(skill)) context.skip(reason);
    await body();
  });
}

/** Where a skill is once `buildSkills` has resolved. */
export type SkillPaths = Record<SkillName, string>;

function place(root: string, name: string): string {
  const directory = join(root, name);
  mkdirSync(directory);
  return join(directory, `${name}.wasm`);
}

/** Builds them, each in a directory of its own. */
export async function buildSkills(
  names: readonly SkillName[] = [...kFromC, ...kFromText],
): Promise<SkillPaths> {
  const isWanted = (name: SkillName) => names.includes(name);
  const root = tempDirectory("skills");
  const invalid = place(root, "invalid");
  writeFileSync(invalid, Buffer.from("\0asm\x01\0\0\0garbage", "latin1"));
  const paths: Partial<SkillPaths> = { invalid };
  for (const name of kFromText.filter(isWanted)) {
    const path = place(root, name);
    const features = { mutable_globals: true };
    writeFileSync(path, await wat(readFileSync(join(sources, `${name}.wat`), "utf8"), features));
    paths[name] = path;
  }
  for (const name of kFromC.filter(isWanted)) {
    const path = place(root, name);
    const failed = reason === undefined ? compileC(join(sources, `${name}.c`), path) : undefined;
    if (failed !== undefined) throw new Error(failed);
    paths[name] = path;
  }
  return paths as SkillPaths;
}

/** An executor that no variable of this process steers. */
export function makeExecutor(options: WasmSkillExecutorOptions = {}): WasmSkillExecutor {
  return new WasmSkillExecutor({ environment: {}, ...options });
}
