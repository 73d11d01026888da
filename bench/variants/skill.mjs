// The skill that the variants of the scenario run, and how they call it.

import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";

import load from "wabt";

const kText = `(module
  (import "wasi_snapshot_preview1" "fd_read" (func $read (param i32 i32 i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "fd_write" (func $write (param i32 i32 i32 i32) (result i32)))
  (memory (export "memory") 1)
  (data (i32.const 0) "\\10\\00\\00\\00\\00\\10\\00\\00")
  (func (export "_start")
    (drop (call $read (i32.const 0) (i32.const 0) (i32.const 1) (i32.const 8)))
    (i32.store (i32.const 4) (i32.load (i32.const 8)))
    (drop (call $write (i32.const 1) (i32.const 0) (i32.const 1) (i32.const 12)))))`;

export const kInput = "hello";

/** Builds it in a directory of its own, one for each variant; resolves to its path. */
export async function buildSkill(workspace, name) {
  const directory = join(workspace, `skill-${name}`);
  await mkdir(directory, { recursive: true });
  const wabt = await load();
  const path = join(directory, "skill.wasm");
  await writeFile(path, wabt.parseWat("skill.wat", kText).toBinary({}).buffer);
  return path;
}

/** An executor's call as the suite's hosts make it. */
export function caller(executor, wasmPath, trustTier, resourceLimits = {}) {
  const skill = { manifest: { name: "copy" }, wasmPath, trustTier, resourceLimits };
  return {
    async exec() {
      const { output } = await executor.execute(skill, kInput);
      const stdout = Buffer.from(output);
      return { exitCode: 0, stdout, stderr: Buffer.alloc(0), stdoutBytes: stdout.length };
    },
  };
}
