/** `native-runner worker` as a process of its own, ended with the tests of a file. */

import { type ChildProcess, spawn } from "node:child_process";
import { writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll } from "vitest";

import { eventually } from "../../../support/waits.js";
import { kNodeProgram } from "../../support/node-arguments.js";
import { isAlive, processTree } from "../../support/processes.js";
import { tempDirectory } from "../../support/temp.js";

const kMain = fileURLToPath(new URL("../../../../dist/cli/main.js", import.meta.url));

/** What a worker is started with. */
export type WorkerChoice = {
  /** The broker's address. */
  server: string;
  pool?: string;
  name?: string;
  slots?: number;
  /** A policy, as its file says it. */
  policy?: object;
  /** Default: all of the host's temporary directory. */
  workspaces?: string;
  env?: Record<string, string>;
  /** More of its command line. */
  words?: readonly string[];
  /** Put in front of its command line; it has to become the worker (exec). */
  before?: readonly string[];
};

/** One that is running. */
export type TestWorker = {
  pid: number;
  /** What it has written so far. */
  log(): string;
  kill(signal: NodeJS.Signals): void;
  /** Resolves with its exit code when it is gone. */
  ended: Promise<number | null>;
  /** By SIGTERM, or another signal; resolves with its exit code when it is gone. */
  stop(signal?: NodeJS.Signals): Promise<number | null>;
};

const running = new Set<ChildProcess>();
/** Files run at once, and two workers of one name can't have the same workspaces. */
const ownName = () => `test-${process.pid}-${++started}`;
let started = 0;
// Its sandboxes end with it, a moment later.
afterAll(async () => {
  for (const child of running) {
    const processes = processTree(child.pid ?? 0);
    child.kill("SIGKILL");
    await eventually(
      () => `the worker has ended: ${processes.filter(isAlive).join(", ")}`,
      () => !processes.some(isAlive),
    );
  }
});

/** Starts one and waits until it serves its pool. */
export async function startWorker(choice: WorkerChoice): Promise<TestWorker> {
  const {
    server,
    pool = "tests",
    name = ownName(),
    slots = 8,
    policy,
    workspaces = tmpdir(),
  } = choice;
  const words = ["--server", server, "--insecure", "--pool", pool, "--workspaces", workspaces];
  words.push("--slots", String(slots), "--name", name);
  if (policy !== undefined) {
    const file = path.join(tempDirectory("policy"), "policy.json");
    writeFileSync(file, JSON.stringify(policy));
    words.push("--policy", file);
  }
  words.push(...(choice.words ?? []));
  const env = { ...process.env, XDG_STATE_HOME: tempDirectory("state"), ...choice.env };
  const all = [...(choice.before ?? []), kNodeProgram, kMain, "worker", ...words];
  const [program = "", ...rest] = all;
  const child = spawn(program, rest, {
    env,
    stdio: ["ignore", "ignore", "pipe"],
  });
  running.add(child);
  let written = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    written += text;
  });
  const gone = new Promise<number | null>((resolve) => {
    child.once("close", (code) => {
      running.delete(child);
      resolve(code);
    });
  });
  await eventually(
    () => `the worker serves: ${written}`,
    () => {
      if (child.exitCode !== null) throw new Error(`the worker has ended: ${written}`);
      return written.includes("serves the pool");
    },
  );
  return {
    pid: child.pid ?? 0,
    log: () => written,
    kill: (signal) => void child.kill(signal),
    ended: gone,
    stop: (signal = "SIGTERM") => {
      child.kill(signal);
      return gone;
    },
  };
}
