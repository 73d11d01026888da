// What each wall around a WASM skill costs.

import { execFile } from "node:child_process";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

import { hostCpu, runTime } from "./scenario.mjs";

const kBytes = 5;

const skill = {
  name: "skill",
  work:
    "a WASM skill that copies 5 bytes, by the built-in engine, warm, one call at a time: untrusted, " +
    "against the same process started bare, verified in a supervised process, and in a worker",
  variants: ["skillSandboxed", "skillNode", "skillProcess", "skillWorker"],
  sizes: { full: { rounds: 20, runs: 15 }, quick: { rounds: 3, runs: 5 } },
  request: { argv: ["skill"], expected: { kept: kBytes, written: kBytes }, atOnce: 1 },
  measures: [{ ...runTime, bars: { skillNode: { atMost: 3, aim: 1.5 } } }, hostCpu],
};

// The skill that the variants of the scenario run, and how they call it.

const kText = `(module
  (import "wasi_snapshot_preview1" "fd_read" (func $read (param i32 i32 i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "fd_write" (func $write (param i32 i32 i32 i32) (result i32)))
  (memory (export "memory") 1)
  (data (i32.const 0) "\\10\\00\\00\\00\\00\\10\\00\\00")
  (func (export "_start")
    (drop (call $read (i32.const 0) (i32.const 0) (i32.const 1) (i32.const 8)))
    (i32.store (i32.const 4) (i32.load (i32.const 8)))
    (drop (call $write (i32.const 1) (i32.const 0) (i32.const 1) (i32.const 12)))))`;

const kInput = "hello";

/** Builds it in a directory of its own, one for each variant; resolves to its path. */
async function buildSkill(workspace, name) {
  const directory = join(workspace, `skill-${name}`);
  await mkdir(directory, { recursive: true });
  const { default: load } = await import("wabt");
  const wabt = await load();
  const path = join(directory, "skill.wasm");
  await writeFile(path, wabt.parseWat("skill.wat", kText).toBinary({}).buffer);
  return path;
}

/** An executor's call as the suite's hosts make it. */
function caller(executor, wasmPath, trustTier, resourceLimits) {
  const skill = { manifest: { name: "copy" }, wasmPath, trustTier, resourceLimits };
  return {
    async exec() {
      const { output } = await executor.execute(skill, kInput);
      const stdout = Buffer.from(output);
      return { exitCode: 0, stdout, stderr: Buffer.alloc(0), stdoutBytes: stdout.length };
    },
  };
}

/**
 * A skill by our executor. `where` names the directory of its own, `trust` is its tier, and `limits` are
 * its resource limits; `executor` are the executor's options.
 */
async function openSkill({ workspace, where, trust, limits = {}, executor }) {
  const { WasmSkillExecutor } = await import("../../dist/index.js");
  const path = await buildSkill(workspace, where);
  return caller(new WasmSkillExecutor(executor), path, trust, limits);
}

// The engine process of the built-in engine, started by child_process and waited for: nothing else.

const kScript = fileURLToPath(new URL("../../dist/skills/guest/process.mjs", import.meta.url));

function callNode(request) {
  return new Promise((resolve, reject) => {
    const args = ["--no-warnings", "--wasm-max-mem-pages=2048", kScript];
    const child = execFile(process.execPath, args, { env: {} }, (error, text) => {
      if (error) return reject(error);
      const stdout = Buffer.from(JSON.parse(text).output);
      resolve({ exitCode: 0, stdout, stderr: Buffer.alloc(0), stdoutBytes: stdout.length });
    });
    child.stdin.end(request);
  });
}

async function openNode({ workspace }) {
  const request = JSON.stringify({
    wasm_path: await buildSkill(workspace, "node"),
    input: kInput,
    trust_tier: "verified",
    resource_limits: {
      max_memory_bytes: 2048 * 65_536,
      max_duration_ms: 30_000,
      max_output_bytes: 1024 ** 2,
    },
  });
  return { exec: () => callNode(request) };
}

export const scenarios = [skill];

export const variants = {
  // An untrusted skill: an engine process in the OS sandbox.
  skillSandboxed: {
    title: "our sandboxed skill",
    kind: "ours",
    open: openSkill,
    options: { where: "sandboxed", trust: "untrusted", executor: { environment: {} } },
  },
  // A verified skill in a supervised process without a sandbox, which its fuel limit asks for.
  skillProcess: {
    title: "our skill process",
    kind: "ours",
    open: openSkill,
    options: { where: "process", trust: "verified", limits: { maxFuel: 1e12 } },
  },
  // A verified skill in a worker.
  skillWorker: {
    title: "our skill worker",
    kind: "ours",
    open: openSkill,
    options: { where: "worker", trust: "verified" },
  },
  skillNode: { title: "bare engine process", kind: "same-bwrap", open: openNode },
};
