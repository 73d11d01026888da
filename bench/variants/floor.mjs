// The C floor behind the interface of a host (host/host.mjs): compiled when its source is newer,
// started anew for each burst. `bare`: the command itself, without the sandbox.

import { execFile } from "node:child_process";
import { mkdir, stat } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

const run = promisify(execFile);
const kSource = fileURLToPath(new URL("../floor.c", import.meta.url));
const kDirectory = fileURLToPath(new URL("../../build/bench/", import.meta.url));
const kProgram = `${kDirectory}floor`;
const kOutput = { maxBuffer: 64 * 2 ** 20 };

const modifiedAt = (path) =>
  stat(path).then(
    (entry) => entry.mtimeMs,
    () => 0,
  );

async function compile() {
  if ((await modifiedAt(kProgram)) > (await modifiedAt(kSource))) return;
  await mkdir(kDirectory, { recursive: true });
  await run(process.env.CC ?? "cc", ["-std=c11", "-O2", "-Wall", "-o", kProgram, kSource]);
}

export async function openFloor({ sandbox, bare = false }) {
  await compile();
  const prefix = bare ? [] : [sandbox.cmd, ...sandbox.options, "--"];
  return {
    async burst({ argv, runs, atOnce }) {
      const args = [String(atOnce), String(runs), ...prefix, ...argv];
      const { stdout } = await run(kProgram, args, kOutput);
      return JSON.parse(stdout);
    },
    close() {},
  };
}
