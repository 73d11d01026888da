/** Which of the host's variables the addon can't see by itself. Pure but for what it reads of the process. */

import { isMainThread } from "node:worker_threads";

import type { NativeContext } from "../../types/addon.js";

/**
 * In Node's main thread process.env is environ(7), which the addon reads. A worker has a copy of its own, and in Bun it
 * is an object of its own everywhere: what is set, or deleted, there does not reach environ.
 */
const kIsEnviron = isMainThread && !("bun" in process.versions);

/** Hosts and test runners put an object of theirs in its place. */
const kFirst = process.env;

/** @returns process.env as it is now, where that is not environ; its values as child_process would pass them. */
export function hostEnvironment(): Pick<NativeContext, "environment"> {
  const { env } = process;
  if (kIsEnviron && env === kFirst) return {};
  const variables = Object.entries(env).filter(([, value]) => value !== undefined);
  return { environment: Object.fromEntries(variables.map(([name, value]) => [name, `${value}`])) };
}
