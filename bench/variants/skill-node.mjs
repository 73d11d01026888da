// The engine process of the built-in engine, started by child_process and waited for: nothing else.

import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";

import { buildSkill, kInput } from "./skill.mjs";

const kScript = fileURLToPath(new URL("../../dist/skills/guest/process.mjs", import.meta.url));

function call(request) {
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

export async function open({ workspace }) {
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
  return { exec: () => call(request) };
}
