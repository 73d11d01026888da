// Programs that the benchmark starts: those on the PATH, and its own in C, compiled into build/bench/
// when their source is newer.

import { execFile } from "node:child_process";
import { accessSync, constants } from "node:fs";
import { mkdir, stat } from "node:fs/promises";
import { basename, delimiter, isAbsolute, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

/** The absolute path of a program, or undefined. */
export function findProgram(program) {
  if (isAbsolute(program)) return program;
  for (const directory of (process.env.PATH ?? "").split(delimiter)) {
    const candidate = join(directory, program);
    try {
      accessSync(candidate, constants.X_OK);
      return candidate;
    } catch {
      // Not in this directory.
    }
  }
  return undefined;
}

export const hasProgram = (program) => findProgram(program) !== undefined;

const run = promisify(execFile);
const kDirectory = fileURLToPath(new URL("../build/bench/", import.meta.url));
const kOutput = { maxBuffer: 64 * 2 ** 20 };

const modifiedAt = (path) =>
  stat(path).then(
    (entry) => entry.mtimeMs,
    () => 0,
  );

/** Resolves to the path of the program; `source` is a URL that ends with NAME.c. */
export async function compiled(source) {
  const file = fileURLToPath(source);
  const program = `${kDirectory}${basename(file, ".c")}`;
  if ((await modifiedAt(program)) > (await modifiedAt(file))) return program;
  await mkdir(kDirectory, { recursive: true });
  await run(process.env.CC ?? "cc", ["-std=c11", "-O2", "-Wall", "-o", program, file]);
  return program;
}

/** Runs one that prints a burst's measurements as JSON. */
export async function burstOf(program, args) {
  const { stdout } = await run(program, args.map(String), kOutput);
  return JSON.parse(stdout);
}
