/** Programs that people use, as clients in a made-up internet: which there are here, and how they are called. */

import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

import { kNodeProgram } from "../support/node-arguments.js";
import type { End, Job, World } from "./made-up-internet.js";

export type Client = {
  name: string;
  why?: string | undefined;
  script: string;
  out: string | RegExp;
  /** What must have been connected to, among others. */
  host?: string;
  port?: number;
};

/** Returns why a client can't be tried, or undefined. */
export function lacks(...programs: string[]): string | undefined {
  const missing = programs.filter(
    (each) => spawnSync("sh", ["-c", `PATH=/usr/bin:/bin command -v ${each}`]).status !== 0,
  );
  return missing.length === 0 ? undefined : `there is no ${missing.join(", ")} in /usr/bin`;
}

/** Why pip can't be tried, or undefined. */
export const whyNoPip =
  lacks("python3") ??
  (spawnSync("/usr/bin/python3", ["-m", "pip", "--version"]).status === 0
    ? undefined
    : "there is no pip for /usr/bin/python3");

/** What commands see besides the system. */
export const kModules = fileURLToPath(new URL("../../../node_modules", import.meta.url));
export const kHosts = fileURLToPath(new URL("../hosts/network", import.meta.url));

export const kNpm = `PATH=$PATH:${dirname(kNodeProgram)}`;
/** Has what follows find its way without the proxy. */
export const kDirect = "unset HTTP_PROXY HTTPS_PROXY http_proxy https_proxy NODE_USE_ENV_PROXY;";
export const kLargeBytes = 64 << 20;
export const kLargeHash = createHash("sha256").update(Buffer.alloc(kLargeBytes)).digest("hex");
export const node = (program: string) => `${kNodeProgram} --input-type=module -e '${program}'`;

/** Runs those that can be tried, one after the other; their ends by name. */
export async function tried(
  world: World,
  clients: readonly Client[],
  network: Job["network"],
): Promise<Map<string, End>> {
  const present = clients.filter(({ why }) => why === undefined);
  const env = { PNPM: join(kModules, "pnpm"), HOSTS: kHosts };
  const done = await world.run(present.map(({ script }) => ({ network, script, env })));
  return new Map(present.map(({ name }, at) => [name, done[at] as End]));
}
