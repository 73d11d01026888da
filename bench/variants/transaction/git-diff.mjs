// git diff --no-index of the project that the variant `diff` has, and a copy with the same lines
// changed, its output read.

import { execFile } from "node:child_process";
import { cp } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { bursts, millisecondsOf } from "../../host/timed.mjs";
import { hasProgram } from "../../programs.mjs";
import { expectWhole, fill, kScript } from "./diff.mjs";
import { placeOf } from "./place.mjs";

export const missing = () => (hasProgram("git") ? undefined : "git is not on the PATH");

const kOutput = { maxBuffer: 64 * 2 ** 20 };
const run = promisify(execFile);

// It says by 1 that there are differences.
async function diff(before, after) {
  const words = ["diff", "--no-index", "--no-color", before, after];
  const ended = await run("git", words, kOutput).catch((error) => error);
  if (ended.code !== 1) throw new Error(`git ended with ${ended.code ?? 0}`);
  return ended.stdout;
}

export async function open({ workspace }) {
  const { project, top } = await placeOf(workspace, "diff", fill);
  const after = join(top, "after");
  await cp(project, after, { recursive: true });
  await run("/bin/sh", ["-c", kScript], { cwd: after });
  expectWhole(await diff(project, after));
  return { burst: bursts(() => millisecondsOf(() => diff(project, after))) };
}
