/** The hostile engine of ../skills/native, and what is planted for it: throw-away targets only. */

import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { existsSync, rmSync, writeFileSync } from "node:fs";
import { type AddressInfo, createServer } from "node:net";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

import type { Skill, SkillEngine, TrustTier } from "../../../lib/index.js";
import { allPids, isAlive, readProc } from "./processes.js";
import { plainEnvironment } from "./requirements.js";
import { tempDirectory } from "./temp.js";

const source = fileURLToPath(new URL("../skills/modules/native/hostile-engine.c", import.meta.url));

/** What it says it achieved, 1 or 0 each. */
export type Loot = {
  read: number;
  write: number;
  beside: number;
  connect: number;
  see: number;
  signal: number;
  /** The skill's own file, which every engine reads. */
  skill: number;
};

export type HostileScene = {
  engine: SkillEngine;
  skill(tier: TrustTier): Skill;
  /** Its arguments, for a run without any engine. */
  argv: string[];
  /** Whether it wrote, as the host sees it; forgets it. */
  tookWriting(): string[];
  /** Processes of the host that it has left behind. */
  survivors(): number[];
  close(): void;
};

function build(directory: string): string {
  const output = join(directory, "hostile-engine");
  const args = ["-static", "-O1", "-D_GNU_SOURCE", "-Wall", "-o", output, source];
  const done = spawnSync(process.env.CC ?? "cc", args, {
    encoding: "utf8",
    env: plainEnvironment(),
  });
  if (done.status !== 0) throw new Error(done.error?.message ?? done.stderr);
  return output;
}

function withName(name: string): number[] {
  return allPids().filter((pid) => readProc(pid, "cmdline").includes(name) && isAlive(pid));
}

async function startNeighbour(program: string, mark: string): Promise<ChildProcess> {
  const neighbour = spawn(program, [], { argv0: `host-${mark}`, stdio: "ignore" });
  await once(neighbour, "spawn");
  return neighbour;
}

/** Plants a secret, a place to write, a service and a process. */
export async function makeHostileScene(): Promise<HostileScene> {
  const home = tempDirectory("hostile", "/var/tmp"); // in /tmp a sandbox has its own of that name
  const program = build(tempDirectory("hostile-engine"));
  const mark = randomUUID();
  const secret = join(home, "secret");
  const written = join(home, "written");
  const wasmPath = join(tempDirectory("hostile-skill"), "skill.wasm");
  writeFileSync(secret, "secret", { mode: 0o600 });
  writeFileSync(wasmPath, Buffer.from("\0asm\x01\0\0\0", "latin1"));
  const server = createServer((socket) => socket.on("error", () => {}).destroy());
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const neighbour = await startNeighbour(program, mark);
  const { port } = server.address() as AddressInfo;
  const argv = [program, secret, written, String(port), mark, String(neighbour.pid), wasmPath];
  return {
    argv,
    engine: {
      name: "hostile",
      enforces: { fuel: true, memory: true, time: true, wasi: true, components: false },
      command: () => ({
        argv,
        stdin: new Uint8Array(),
        readable: [program],
        overheadBytes: 0,
        maxStdoutBytes: 4096,
      }),
      answer: ({ stdout }) => ({ success: true, output: Buffer.from(stdout).toString() }),
    },
    skill: (trustTier) => ({ manifest: { name: "hostile" }, wasmPath, trustTier }),
    tookWriting: () => {
      const found = [written, `${wasmPath}.written`].filter((path) => existsSync(path));
      for (const path of found) rmSync(path);
      return found;
    },
    survivors: () => withName(`survivor-${mark}`),
    close: () => {
      server.close();
      neighbour.kill("SIGKILL");
    },
  };
}
