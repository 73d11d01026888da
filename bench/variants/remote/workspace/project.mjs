// A project of 5,000 files and 219 MB, ten of which change before each measurement. Its text compresses
// to a half.

import { randomBytes } from "node:crypto";
import { appendFile, mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { bursts, millisecondsOf } from "../../../host/timed.mjs";

const kFolders = 100;
const kFiles = 50;
const kBytes = 45_900;
const kChanged = 10;

/** { top, project, change(), remove() }: a project in a temporary directory `top`. */
export async function openProject() {
  const top = await mkdtemp(join(tmpdir(), "native-runner-bench-workspace-"));
  const project = join(top, "project");
  for (let folder = 0; folder < kFolders; folder++) {
    const directory = join(project, `d${folder}`);
    await mkdir(directory, { recursive: true });
    for (let file = 0; file < kFiles; file++) {
      const text = randomBytes(kBytes / 2).toString("hex");
      await writeFile(join(directory, `f${file}`), text);
    }
  }
  let turn = 0;
  const change = async () => {
    turn += 1;
    for (let at = 0; at < kChanged; at++) {
      const name = join(`d${(7 * at + turn) % kFolders}`, `f${(11 * turn + at) % kFiles}`);
      await appendFile(join(project, name), `${turn}\n`);
    }
  };
  return { top, project, change, remove: () => rm(top, { recursive: true, force: true }) };
}

/** Bursts of moves, each after a change; `ownMs` gives what the last one took for something else than moving. */
export function movingBursts(change, move, { firstMs, ownMs }) {
  let movingMs = [];
  const step = async () => {
    await change();
    const ms = await millisecondsOf(move);
    movingMs.push(ms - ownMs());
    return ms;
  };
  const more = () => {
    const last = movingMs;
    movingMs = [];
    return { firstMs, movingMs: last };
  };
  return bursts(step, more);
}
