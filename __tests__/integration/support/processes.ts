/**
 * Which processes of a run are alive. A run is marked by a variable that all its processes inherit.
 * Zombies do not count: who reaps an orphan is the machine's business.
 */

import { randomUUID } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";

export const kMarker = "NATIVE_RUNNER_TEST_MARK";

export const newMark = (): string => randomUUID();

export function readProc(pid: number, file: string): string {
  try {
    return readFileSync(`/proc/${pid}/${file}`, "utf8");
  } catch {
    return ""; // gone, or not ours to read
  }
}

export function allPids(): number[] {
  return readdirSync("/proc")
    .map(Number)
    .filter((pid) => pid > 0);
}

/** Name, state and parent, as /proc/PID/stat has them. */
function statOf(pid: number): { state: string; parent: number } | undefined {
  const fields = readProc(pid, "stat").split(") ").at(-1)?.split(" ") ?? [];
  const [state, parent] = fields;
  return state === undefined || state === "" ? undefined : { state, parent: Number(parent) };
}

export function isAlive(pid: number): boolean {
  const state = statOf(pid)?.state;
  return state !== undefined && state !== "Z" && state !== "X";
}

export function childrenOf(parent: number): number[] {
  return allPids().filter((pid) => statOf(pid)?.parent === parent && isAlive(pid));
}

/** A process and all that it and its children have started, as far as they live and nobody has adopted them. */
export function processTree(pid: number): number[] {
  return [pid, ...childrenOf(pid).flatMap(processTree)];
}

/** Living processes that have the mark, with their command lines. */
export function marked(mark: string): string[] {
  const variable = `${kMarker}=${mark}`;
  return allPids()
    .filter((pid) => readProc(pid, "environ").split("\0").includes(variable) && isAlive(pid))
    .map((pid) => `${pid}: ${readProc(pid, "cmdline").replaceAll("\0", " ")}`);
}
