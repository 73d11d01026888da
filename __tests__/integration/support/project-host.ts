/** Runs commands with Bwrap in a host of its own, in the open or in an outer bwrap. */

import { fileURLToPath } from "node:url";

import { jsonOfHost } from "./host-program.js";
import { kNodeInside } from "./node-arguments.js";
import type { BwrapOptions } from "./package.js";

export type ProjectRun = {
  project: string;
  additional?: string[];
  network?: boolean;
  options?: BwrapOptions;
  command: string;
};

export type ProjectEnd = { text?: string; error?: string; code?: string; fix?: string };

export type ProjectHost = { nested: boolean; ends: ProjectEnd[]; peakBytes: number };

/** An outer bwrap with these options, which shows everything and lets `writable` be written. */
export function outerBwrap(writable: string, options: readonly string[]): string[] {
  const flags = ["--die-with-parent", "--ro-bind", "/", "/", "--dev", "/dev"];
  return ["bwrap", ...flags, ...options, "--bind", writable, writable, "--"];
}

/** `before` is put in front of the node command line. */
export async function runProjectHost(
  runs: readonly ProjectRun[],
  { before = [], env = {} }: { before?: readonly string[]; env?: NodeJS.ProcessEnv } = {},
): Promise<ProjectHost> {
  const program = fileURLToPath(new URL("../hosts/project.mjs", import.meta.url));
  return jsonOfHost([...before, ...kNodeInside, program, JSON.stringify({ runs })], env);
}
