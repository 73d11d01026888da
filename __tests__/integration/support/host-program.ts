/**
 * Runs a host program of ../hosts in a process of its own, below a reaper: no process that the host
 * leaves behind can get lost, and one that is alive after the bound fails the test.
 */

import { type ChildProcess, spawn } from "node:child_process";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { afterAll } from "vitest";

import { engines, kEngineEnvironment } from "../other-hosts/engines.js";
import { kNodeInside } from "./node-arguments.js";
import { childrenOf } from "./processes.js";
import { plainEnvironment } from "./requirements.js";

const kBoundMs = 10_000;
const kLeft = 97;

export type HostEnd = { code: number | null; out: string; err: string; left: string[] };

export type Host = {
  /** The reaper's process; the host is its child. */
  reaper: ChildProcess;
  /** What the host has said so far. */
  said(): string;
  ended: Promise<HostEnd>;
};

export type HostOptions = {
  /** The words that start it, in place of Node's: those of another engine. */
  words?: readonly string[];
  args?: readonly string[];
  env?: NodeJS.ProcessEnv;
  before?: readonly string[];
  /** How long what the host leaves behind may take to go. */
  boundMs?: number;
};

/** In place of Node's, where NATIVE_RUNNER_TEST_ENGINE has every host run in another: Bun or Deno. */
function otherWords(): readonly string[] | undefined {
  const other = process.env.NATIVE_RUNNER_TEST_ENGINE;
  if (other === undefined) return undefined;
  const found = engines().find(({ name }) => name === other);
  if (found === undefined) throw new Error(`NATIVE_RUNNER_TEST_ENGINE: no engine "${other}"`);
  if (found.whyNot !== undefined) throw new Error(found.whyNot);
  return found.words;
}

/** Those whose host has not ended: a host that hangs does not outlive the tests of a file. */
const running = new Set<ChildProcess>();
afterAll(() => {
  const hosts = [...running].flatMap(({ pid = 0 }) => childrenOf(pid));
  for (const pid of hosts) process.kill(pid, "SIGKILL");
});

/** Starts hosts/NAME; `before` is put in front of the command line. */
export function startHost(probe: string, name: string, options: HostOptions = {}): Host {
  const program = fileURLToPath(new URL(`../hosts/${name}`, import.meta.url));
  const words = options.words ?? otherWords();
  const host = [...(words ?? [...kNodeInside, "--expose-gc"]), program, ...(options.args ?? [])];
  const args = ["reap", String(options.boundMs ?? kBoundMs), ...(options.before ?? []), ...host];
  const reaper = spawn(probe, args, {
    env: { ...plainEnvironment(), ...(words && kEngineEnvironment), ...options.env },
    stdio: ["ignore", "pipe", "pipe"],
  });
  running.add(reaper);
  let out = "";
  let err = "";
  reaper.stdout.on("data", (chunk) => {
    out += String(chunk);
  });
  reaper.stderr.on("data", (chunk) => {
    err += String(chunk);
  });
  const ended = new Promise<HostEnd>((resolve, reject) => {
    reaper.on("error", reject);
    reaper.on("close", (code) => {
      running.delete(reaper);
      const left =
        code === kLeft ? out.split("\n").filter((line) => line.startsWith("left: ")) : [];
      resolve({ code, out, err, left });
    });
  });
  return { reaper, said: () => out, ended };
}

/** Kills the host's own process, not the reaper. */
export function killHost({ reaper }: Host): void {
  const [pid] = childrenOf(reaper.pid ?? 0);
  if (pid === undefined) throw new Error("the host has no process");
  process.kill(pid, "SIGKILL");
}

/** Runs hosts/NAME to its end. */
export function runHost(probe: string, name: string, options: HostOptions = {}): Promise<HostEnd> {
  return startHost(probe, name, options).ended;
}

/** What a host program says on stdout, as one JSON value, given the whole command line that starts it. */
export async function jsonOfHost<Said>(
  [command = "", ...args]: readonly string[],
  env: NodeJS.ProcessEnv = {},
): Promise<Said> {
  const host = spawn(command, args, {
    env: { ...plainEnvironment(), ...env },
    stdio: ["ignore", "pipe", "pipe"],
  });
  const ended = new Promise((resolve, reject) => host.on("error", reject).on("close", resolve));
  const [out, err] = await Promise.all([text(host.stdout), text(host.stderr), ended]);
  if (out === "") throw new Error(`the host said nothing: ${err}`);
  return JSON.parse(out) as Said;
}
